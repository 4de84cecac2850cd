"""What an agent wrote when it was asked: kept, put away, and known for its own later on."""

from __future__ import annotations

from dataclasses import replace

from handoffs.models import ActorKind, Author, Statement
from handoffs.store import leading, preparing, reading
from handoffs.store.preparing import Circumstances
from ledger import forget
from tests.handoffs.setting import Setting
from tests.handoffs.test_store import tick

AGENT = Author(kind=ActorKind.AGENT, harness="codex", session="native-codex", owner="ada")


def keep(here: Setting) -> str:
    around = Circumstances(author=AGENT, author_session=here.session("codex").id)
    return preparing.keep(here.store, here.workstream, here.content(), around)


def author(here: Setting, name: str) -> Author:
    return reading.exact(here.store, here.workstream, name).author


def test_what_is_kept_is_in_no_list_and_leads_nothing(here: Setting) -> None:
    name = keep(here)
    assert reading.open_prepared(here.store, here.workstream) == []
    assert leading.leading(here.store, here.workstream) is None
    assert author(here, name) == AGENT


def test_a_person_who_prepares_it_unchanged_is_not_its_author(here: Setting) -> None:
    name = keep(here)
    tick(here)
    prepared = here.prepare(here.content()).prepared
    assert (prepared.prepared_id, prepared.author) == (name, AGENT)
    (found,) = reading.open_prepared(here.store, here.workstream)
    assert (found.author, found.author_session) == (AGENT, here.session("codex").id)


def test_a_person_who_changes_a_word_is_its_author(here: Setting) -> None:
    keep(here)
    changed = replace(here.content(), state=(Statement(text="`a.py` accepts bad input"),))
    assert here.prepare(changed).prepared.author.kind is ActorKind.HUMAN


def test_the_author_stays_known_when_the_head_has_moved(here: Setting) -> None:
    name = keep(here)
    here.committed(replace(here.content(), objective="Something else"))
    prepared = here.prepare(here.content()).prepared
    assert prepared.prepared_id != name
    assert prepared.author == AGENT


def test_another_agent_that_says_the_same_is_its_own_author(here: Setting) -> None:
    keep(here)
    here.committed(replace(here.content(), objective="Something else"))
    other = Author(kind=ActorKind.AGENT, harness="claude")
    assert here.prepare(here.content(), author=other).prepared.author == other


def test_what_is_prepared_later_is_newer_than_what_was_prepared_between(here: Setting) -> None:
    name = keep(here)
    tick(here)
    here.prepare(replace(here.content(), objective="Something else"))
    tick(here)
    here.prepare(here.content())
    found = leading.leading(here.store, here.workstream)
    assert found is not None
    assert found.prepared_id == name


def test_the_same_answer_twice_stays_put_away(here: Setting) -> None:
    assert keep(here) == keep(here)
    assert reading.open_prepared(here.store, here.workstream) == []


def test_keeping_what_was_prepared_leaves_it_prepared(here: Setting) -> None:
    prepared = here.prepare(here.content()).prepared
    assert keep(here) == prepared.prepared_id
    (found,) = reading.open_prepared(here.store, here.workstream)
    assert found.author.kind is ActorKind.HUMAN


def test_what_nobody_stands_by_goes_when_words_are_forgotten(here: Setting) -> None:
    event = here.event(here.says("please fix a.py"))
    keep(here)
    mine = here.prepare(replace(here.content(), objective="Something else")).prepared
    forget.forget(here.store, workstream=None, events=[event.event_id], who="ada", why="test")
    rows = here.store.all("SELECT prepared_id FROM handoff_prepared")
    assert [row["prepared_id"] for row in rows] == [mine.prepared_id]

"""One damaged row costs itself: it is named, and nothing beside it is affected."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from handoffs.errors import HeadConflictError
from handoffs.models import Outcome, OutcomeStatus, ReceiptStatus
from handoffs.store import (
    answering,
    damage,
    drafts,
    leading,
    reading,
    receipts,
    receiving,
    reporting,
    states,
    transfer,
)
from handoffs.store.answering import Answer
from handoffs.store.committing import CommitState
from ledger import workstreams
from ledger.errors import BadDataError
from ledger.store import open_store
from tests.handoffs.setting import ALL_CONFIRMED, PERSON, Setting, setting
from tests.ledger.making import SetClock, start_run

COLUMNS = [
    ("handoff_revision", "content"),
    ("handoff_revision", "content_digest"),
    ("handoff_revision", "author"),
    ("handoff_revision", "git"),
    ("handoff_prepared", "content"),
    ("handoff_prepared", "author"),
    ("handoff_prepared", "git"),
    ("handoff_draft", "content"),
    ("handoff_draft", "sessions"),
    ("handoff_draft", "git"),
    ("handoff_transfer", "content"),
    ("handoff_transfer", "author"),
    ("handoff_receipt", "receiver"),
    ("handoff_receipt", "checks"),
    ("handoff_receipt", "evidence"),
    ("handoff_receipt", "relation"),
    ("handoff_outcome", "checks"),
    ("handoff_outcome", "remaining"),
    ("handoff_head", "content_digest"),
]
ONE = {"handoff_revision": "revision = 2", "handoff_prepared": "content LIKE '%c.py%'"}
HARMLESS = {
    *(("sessions", "[]"), ("checks", "[]"), ("remaining", "[]"), ("evidence", "[]")),
    ("git", '{"kind": "ghost"}'),
}
"""What could have been written like this."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    """A workstream with one row, or two, of everything that handoffs keep; its store is closed."""
    folder = tmp_path_factory.mktemp("written")
    with open_store(folder / "state", clock=SetClock()) as store:
        return filled(setting(store, folder))


@pytest.fixture
def full(written: Setting, tmp_path: Path) -> Iterator[Setting]:
    """A copy of it that may be damaged."""
    shutil.copytree(written.store.home, tmp_path / "copy")
    with open_store(tmp_path / "copy", clock=SetClock()) as store:
        yield replace(written, store=store)


def filled(here: Setting) -> Setting:
    asked = here.says("please fix a.py")
    here.committed(here.content(asked))
    taken = receiving.receive(here.store, here.workstream, "r1", here.tree)
    assert taken is not None
    answer = Answer(
        receipt_key="k1",
        receiver=PERSON,
        session=None,
        status=ReceiptStatus.ACCEPTED,
        checks=ALL_CONFIRMED,
    )
    answering.acknowledge(here.store, here.workstream, taken, answer, holder=here.holder)
    done = Outcome(outcome_key="o1", receipt_key="k1", status=OutcomeStatus.FAILED, summary="no")
    answering.record_outcome(here.store, here.workstream, done, PERSON, holder=here.holder)
    source = workstreams.create(here.store, here.workstream.repository, "source")
    there = Setting(store=here.store, workstream=source, tree=here.tree)
    brought = there.committed(there.content(words="`far.py` is new")).revision
    transfer.bring(
        here.store, here.workstream, source, reading.exact(here.store, source, brought.prepared_id)
    )
    here.committed(here.content(words="`b.py` is new"))
    here.prepare(here.content(words="`c.py` is new"))
    run = start_run(here.store, here.workstream)
    with here.store.transaction():
        content = here.content(words="`d.py` is new")
        drafts.replace(here.store, here.workstream, run, content, sessions=[1], git=None)
    assert list(damage.damaged(here.store)) == []
    return here


@pytest.mark.parametrize("rubbish", ["{", "[]", '{"kind": "ghost"}'])
@pytest.mark.parametrize(("table", "column"), COLUMNS, ids=str)
def test_whatever_of_a_row_is_damaged_it_is_named_and_nothing_else_stops(
    full: Setting, table: str, column: str, rubbish: str
) -> None:
    store, where = full.store, full.workstream
    tampered = column == "content_digest"
    value = f"sha256:{'0' * 64}" if tampered else rubbish
    row = f"workstream = {where.id} AND {ONE.get(table, 'TRUE')}"
    assert store.db.execute(f"UPDATE {table} SET {column} = ? WHERE {row}", (value,)).rowcount == 1
    named = [(scope, name) for scope, name, _ in damage.damaged(store)]
    if (column, rubbish) not in HARMLESS:
        assert {scope for scope, _ in named} == {"main"}
        assert len(named) in (1, 2)  # a head says the same as its revision, or not
    # what a run and the commands of reading do
    leading.leading(store, where)
    leading.waiting(store, where)
    reporting.report(store, where.repository)
    assert reading.exact(store, where, "r1").revision == 1
    digest = reading.exact(store, where, "r1").content_digest
    assert states.standing(store, where, digest).coverage == "covered"
    listed = [
        *reading.revisions(store, where),
        *reading.open_prepared(store, where),
        *reading.drafts(store, where),
    ]
    assert len(listed) >= 3
    with contextlib.suppress(BadDataError):
        receipts.newest(store, where)
    # and work goes on
    third = full.committed(full.content(words="`e.py` is new"))
    assert (third.state, third.revision.revision) == (CommitState.COMMITTED, 3)
    source = workstreams.by_name(store, where.repository, "source")
    assert source is not None
    assert reading.exact(store, source, "latest").revision == 1


def test_the_words_of_a_damaged_head_can_be_committed_again(here: Setting) -> None:
    here.committed(here.content())
    here.store.db.execute("UPDATE handoff_revision SET content = substr(content, 3)")
    again = here.committed(here.content())
    assert (again.state, again.revision.revision) == (CommitState.COMMITTED, 2)
    assert reading.exact(here.store, here.workstream, "latest").content == again.revision.content


def test_who_stands_on_a_damaged_head_is_told_its_number(here: Setting) -> None:
    late = here.prepare(here.content(words="`late.py` is new"))
    here.committed(here.content())
    here.store.db.execute("UPDATE handoff_revision SET content = substr(content, 3)")
    with pytest.raises(HeadConflictError) as conflict:
        here.commit(late)
    head = conflict.value.facts["head"]
    assert isinstance(head, dict)
    assert set(head) == {"revision", "content_digest"}


def test_a_head_that_is_not_the_newest_revision_is_named(here: Setting) -> None:
    here.committed(here.content())
    here.committed(here.content(words="`b.py` is new"))
    here.store.db.execute("UPDATE handoff_head SET revision = 1")
    assert ("main", "head r1") in [(w, name) for w, name, _ in damage.damaged(here.store)]

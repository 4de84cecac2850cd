from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from importers.base import Kind, Mark
from ledger import events, index, workstreams
from ledger.errors import BusyError, StateError
from ledger.forget import forget
from ledger.model import Branch, Workstream
from ledger.search import RANKED, Results, search
from ledger.store import Store, open_store
from tests.ledger.making import START, apply, event, link


def say(store: Store, workstream: Workstream, *texts: str, native: str = "native-1") -> None:
    session = link(store, workstream, native)
    made = [event(n, text, name=f"{native}-{n}-{text}") for n, text in enumerate(texts)]
    apply(store, session, made)


def found(results: Results) -> list[str]:
    return [hit.event.text for hit in results.hits]


def test_words_are_found_whatever_their_case_and_marks(
    store: Store, workstream: Workstream
) -> None:
    say(store, workstream, "The Café is open", "nothing here")
    results = search(store, "CAFE")
    assert found(results) == ["The Café is open"]
    assert (results.total, results.total_capped, results.problem) == (1, False, None)
    assert results.hits[0].snippet == "The Café is open"


def test_a_part_of_a_chinese_text_is_found(store: Store, workstream: Workstream) -> None:
    say(store, workstream, "我们修复了会话恢复", "完全不同")
    assert found(search(store, "会话")) == ["我们修复了会话恢复"]


def test_a_text_with_a_lone_surrogate_does_not_hide_others(
    store: Store, workstream: Workstream
) -> None:
    say(store, workstream, "bad \ud800 secretword", "good secretword")
    assert len(search(store, "secretword").hits) == 2


@pytest.mark.parametrize(
    "query",
    [
        "pre-edit",
        'say "hi',
        "memory:safe",
        "don't",
        "foo AND",
        "(python",
        "ubuntu 20.04",
        "scope:w1",
        "* OR *",
        "NEAR(a b)",
        "a^b",
        "\x00",
        "{text}: x",
        "-",
        '"',
        "",
    ],
)
def test_any_query_gives_hits_or_a_sentence(
    store: Store, workstream: Workstream, query: str
) -> None:
    say(store, workstream, "pre-edit memory:safe don't say hi ubuntu 20.04 foo python (x) a b")
    results = search(store, query)
    assert results.problem is not None or results.total == len(results.hits)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(query=st.text(max_size=40))
def test_no_query_breaks_the_search(store: Store, workstream: Workstream, query: str) -> None:
    if store.one("SELECT 1 FROM event") is None:
        say(store, workstream, "a text")
    results = search(store, query, workstreams=[workstream.id])
    assert results.problem is None or results.problem


def test_another_workstream_is_not_searched(store: Store, workstream: Workstream) -> None:
    other = workstreams.create(store, workstream.repository, "other")
    third = workstreams.create(store, workstream.repository, "third")
    say(store, workstream, "needle one")
    say(store, other, "needle two", native="native-2")
    say(store, third, "needle three", native="native-3")
    assert found(search(store, "needle", workstreams=[other.id])) == ["needle two"]
    both = search(store, "needle", workstreams=[workstream.id, third.id])
    assert sorted(found(both)) == ["needle one", "needle three"]
    assert search(store, "needle").total == 3
    assert search(store, "needle", workstreams=[]).total == 0


def test_the_scope_tokens_are_not_words(store: Store, workstream: Workstream) -> None:
    say(store, workstream, "plain text")
    assert search(store, f"w{workstream.id}").total == 0
    assert search(store, "kusermessage").total == 0


def test_filters_narrow_the_hits(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    claude = link(store, workstream, "native-2", harness="claude", entry="claude-work", home="/c")
    apply(store, session, [event(0, "needle a"), event(9, "needle b", kind=Kind.ASSISTANT_MESSAGE)])
    apply(store, claude, [event(5, "needle c", name="c")])
    assert found(search(store, "needle", kinds=["assistant_message"])) == ["needle b"]
    assert found(search(store, "needle", harness="claude-work")) == ["needle c"]
    assert found(search(store, "needle", harness="claude")) == ["needle c"]
    assert found(search(store, "needle", since=START + 9)) == ["needle b"]
    assert found(search(store, "needle", until=START + 5)) == ["needle a"]
    narrow = search(store, "needle", harness="codex", since=START + 1)
    assert (found(narrow), narrow.total, narrow.total_capped) == (["needle b"], 1, False)


def test_a_tool_call_is_found_by_tool_and_input(store: Store, workstream: Workstream) -> None:
    call = event(
        0, "", kind=Kind.TOOL_CALL, tool="apply_patch", tool_input={"a": [{"path": "src/deep.py"}]}
    )
    apply(store, link(store, workstream), [call])
    assert search(store, "apply_patch").total == 1
    hits = search(store, "deep.py").hits
    assert "src/deep.py" in hits[0].snippet


def test_head_and_tail_of_tool_output_are_searchable(store: Store, workstream: Workstream) -> None:
    middle = "filler " * 2000
    output = event(0, f"alpha {middle} omega", kind=Kind.TOOL_RESULT)
    message = event(1, f"beta {middle} gamma", kind=Kind.ASSISTANT_MESSAGE)
    apply(store, link(store, workstream), [output, message])
    assert [search(store, word).total for word in ("alpha", "omega", "beta", "gamma")] == [1] * 4
    assert "omega" in search(store, "omega", text_bytes=None).hits[0].snippet


def test_superseded_events_are_found_and_labelled(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0, "needle")])
    apply(store, session, [Mark(first=0, last=0, active=False)])
    assert [hit.event.branch for hit in search(store, "needle").hits] == [Branch.SUPERSEDED]


def test_forgotten_events_are_not_found(store: Store, workstream: Workstream) -> None:
    say(store, workstream, "needle one", "needle two")
    forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    assert found(search(store, "needle")) == ["needle two"]
    assert search(store, "one").total == 0


def test_messages_and_repetition_rank_higher(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    padding = " word" * 100
    apply(
        store,
        session,
        [
            event(0, "needle needle needle"),
            event(1, "needle" + padding, kind=Kind.TOOL_RESULT),
            event(2, "needle", kind=Kind.TOOL_RESULT),
        ],
    )
    hits = search(store, "needle").hits
    assert [hit.event.seq for hit in hits] == [1, 3, 2]
    assert hits[0].score > hits[1].score > hits[2].score


def test_pages_do_not_overlap_and_reach_beyond_the_ranked_hits(
    store: Store, workstream: Workstream
) -> None:
    count = RANKED + 50
    say(store, workstream, *(f"needle {n}" for n in range(count)))
    pages = [search(store, "needle", limit=100, offset=n) for n in range(0, count, 100)]
    numbers = [hit.event.seq for page in pages for hit in page.hits]
    assert sorted(numbers) == list(range(1, count + 1))
    assert {page.total for page in pages} == {count}


def test_totals_above_ten_thousand_say_so(store: Store, workstream: Workstream) -> None:
    with store.transaction() as db:
        db.executemany(
            "INSERT INTO search (rowid, scope, text) VALUES (?,?,?)",
            [(n, index.scope(workstream.id, "user_message"), "needle") for n in range(1, 10_002)],
        )
    results = search(store, "needle", workstreams=[workstream.id])
    assert (results.total, results.total_capped) == (10_000, True)


def test_a_reader_can_search(store: Store, workstream: Workstream) -> None:
    say(store, workstream, "needle")
    with open_store(store.home, "ro") as reader:
        assert search(reader, "needle").total == 1


# --- damage ---------------------------------------------------------------------------------------


DAMAGES = {
    "rows of the data table": "DELETE FROM search_data WHERE id > 10",
    "all rows of the data table": "DELETE FROM search_data",
    "config": "DELETE FROM search_config",
    "a shadow table": "DELETE FROM sqlite_schema WHERE name = 'search_data'",
    "another shadow table": "DELETE FROM sqlite_schema WHERE name = 'search_idx'",
    "the table": "DELETE FROM sqlite_schema WHERE name = 'search'",
}


def damage(home: Path, sql: str) -> None:
    with open_store(home, "rw") as other:
        if "sqlite_schema" in sql:
            other.db.execute("PRAGMA writable_schema = ON")
        other.db.execute(sql)


@pytest.mark.parametrize("sql", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_index_stops_only_the_search_and_is_built_again(
    store: Store, workstream: Workstream, sql: str
) -> None:
    say(store, workstream, "needle one", "other text")
    damage(store.home, sql)
    with open_store(store.home, "rw") as again:
        say(again, workstream, "needle two", native="native-2")
        assert [row.text for row in events.log(again, workstream)][-1] == "needle two"
        with pytest.raises(StateError, match="workstream verify --rebuild-index"):
            search(again, "needle")
        assert index.check(again) is not None
        assert index.rebuild(again) == 3
        assert sorted(found(search(again, "needle"))) == ["needle one", "needle two"]
        assert index.check(again) is None


def test_missing_entries_are_noticed(store: Store, workstream: Workstream) -> None:
    say(store, workstream, "one", "two")
    store.db.execute("DELETE FROM search_docsize WHERE id = 1")
    assert index.check(store) is not None


def test_an_event_imported_during_a_rebuild_is_indexed_once(
    store: Store, workstream: Workstream
) -> None:
    say(store, workstream, *(f"needle {n}" for n in range(10)))
    late: list[str] = []

    def import_one(*_: int) -> None:
        if not late:
            late.append("x")
            with open_store(store.home, "rw") as other:
                say(other, workstream, "needle late", native="native-2")

    assert index.rebuild(store, import_one) == 10
    assert search(store, "needle").total == 11
    assert index.check(store) is None


def test_an_unfinished_rebuild_is_said(
    store: Store, workstream: Workstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, workstream, *(f"needle {n}" for n in range(10)))
    monkeypatch.setattr(index, "_BATCH", 4)

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.rebuild(store, stop)
    results = search(store, "needle")
    assert results.total == 4
    assert "being built again (40%" in (results.problem or "")
    assert index.check(store) is not None
    index.rebuild(store)
    assert search(store, "needle").problem is None


def test_a_second_rebuild_takes_over(
    store: Store, workstream: Workstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, workstream, *(f"needle {n}" for n in range(10)))
    monkeypatch.setattr(index, "_BATCH", 4)
    begun: list[int] = []

    def other_rebuild(done: int, _: int) -> None:
        if not begun:
            begun.append(done)
            with open_store(store.home, "rw") as other:
                index.rebuild(other)

    with pytest.raises(BusyError, match="another rebuild"):
        index.rebuild(store, other_rebuild)
    assert search(store, "needle").total == 10
    assert index.check(store) is None


def test_what_is_forgotten_during_a_rebuild_stays_out(
    store: Store, workstream: Workstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(store, workstream, *(f"needle {n}" for n in range(10)))
    monkeypatch.setattr(index, "_BATCH", 4)
    done_once: list[int] = []

    def remove(done: int, _: int) -> None:
        if not done_once:
            done_once.append(done)
            with store.transaction() as db:
                assert index.remove(store, [2, 8])
                db.execute("DELETE FROM body WHERE eid IN (2, 8)")

    index.rebuild(store, remove)
    assert search(store, "needle").total == 8
    assert index.check(store) is None

from __future__ import annotations

import pytest

from importers.base import Kind, Mark
from ledger import content, events
from ledger.errors import StateCorruptError, UnavailableError
from ledger.forget import forget
from ledger.model import Branch, EventKind, EventRow, Workstream
from ledger.store import Store
from tests.ledger.making import START, apply, event, link


def fill(store: Store, workstream: Workstream, count: int = 5) -> None:
    apply(store, link(store, workstream), [event(n, f"text {n}") for n in range(count)])


def seqs(found: list[EventRow]) -> list[int]:
    return [row.seq for row in found]


def test_log_gives_the_newest_events_oldest_first(store: Store, workstream: Workstream) -> None:
    fill(store, workstream)
    assert seqs(events.log(store, workstream, limit=2)) == [4, 5]


def test_log_without_limit_gives_all(store: Store, workstream: Workstream) -> None:
    fill(store, workstream, 1201)
    assert seqs(events.log(store, workstream, limit=0)) == list(range(1, 1202))


def test_log_is_bounded_by_sequence_numbers(store: Store, workstream: Workstream) -> None:
    fill(store, workstream)
    assert seqs(events.log(store, workstream, before=4)) == [1, 2, 3]
    assert seqs(events.log(store, workstream, limit=0, after=1, before=4)) == [2, 3]


def test_log_is_filtered_by_kind(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0), event(1, kind=Kind.TOOL_CALL, tool="Read")])
    assert seqs(events.log(store, workstream, kinds=[EventKind.TOOL_CALL])) == [2]


def test_an_event_has_all_that_the_source_said(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    call = event(
        3,
        "out",
        kind=Kind.TOOL_RESULT,
        call_id="call-1",
        tool="shell",
        tool_input={"command": "ls"},
        exit_code=2,
        status="error",
        turn="turn-1",
    )
    apply(store, session, [call], run=None)
    row = events.get(store, workstream, "e1")
    assert (row.kind, row.role, row.harness) == ("tool_result", "tool", "codex")
    assert (row.session, row.session_id) == ("native-1", session.id)
    assert (row.call_id, row.tool, row.tool_input) == ("call-1", "shell", '{"command":"ls"}')
    assert (row.exit_code, row.status, row.turn) == (2, "error", "turn-1")
    assert (row.occurred_at, row.imported_at) == (START + 3, START)
    assert (row.branch, row.run, row.origin) == (Branch.ACTIVE, None, "outside")
    assert (row.text, row.truncated, row.bytes) == ("out", False, 3)


@pytest.mark.parametrize("text", ["x" * 40_000, "é" * 20_000, "short"])
def test_compressed_and_plain_texts_come_back_whole(
    store: Store, workstream: Workstream, text: str
) -> None:
    apply(store, link(store, workstream), [event(0, text)])
    row = events.get(store, workstream, "1")
    assert (row.text, row.truncated, row.bytes) == (text, False, len(text.encode()))
    assert events.body(store, row.eid) == text


@pytest.mark.parametrize("text", ["é" * 30, "é" * 30_000])
def test_a_text_limit_cuts_at_a_character(store: Store, workstream: Workstream, text: str) -> None:
    apply(store, link(store, workstream), [event(0, text)])
    row = events.log(store, workstream, text_bytes=5)[0]
    assert (row.text, row.truncated, row.bytes) == ("éé", True, len(text.encode()))


def test_a_text_too_long_to_be_kept_is_truncated(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(0, "x" * (content.LARGEST + 1))])
    row = events.get(store, workstream, "e1")
    assert row.truncated
    assert row.bytes == content.LARGEST + 1


def test_an_event_is_superseded_only_when_it_is_so_in_every_session(
    store: Store, workstream: Workstream
) -> None:
    first, fork = link(store, workstream), link(store, workstream, "native-2")
    apply(store, first, [event(0), event(1)])
    apply(store, fork, [event(0)])
    apply(store, first, [Mark(first=0, last=1, active=False)])
    assert [row.branch for row in events.log(store, workstream)] == ["active", "superseded"]
    apply(store, fork, [Mark(first=0, last=0, active=False)])
    assert events.get(store, workstream, "e1").branch is Branch.SUPERSEDED


@pytest.mark.parametrize("reference", ["e2", "2", " E2 "])
def test_an_event_is_found_by_number(store: Store, workstream: Workstream, reference: str) -> None:
    fill(store, workstream)
    assert events.get(store, workstream, reference).seq == 2


def test_an_event_is_found_by_the_beginning_of_its_id(store: Store, workstream: Workstream) -> None:
    fill(store, workstream)
    wanted = events.get(store, workstream, "e3")
    assert events.get(store, workstream, wanted.event_id).seq == 3
    assert events.get(store, workstream, wanted.event_id[:16]).seq == 3
    assert events.get(store, workstream, wanted.event_id[4:20].upper()).seq == 3


def test_an_ambiguous_beginning_names_the_candidates(store: Store, workstream: Workstream) -> None:
    fill(store, workstream, 2)
    with pytest.raises(UnavailableError, match="e1, e2"):
        events.get(store, workstream, "ev1-")


@pytest.mark.parametrize("reference", ["e9", "0", "zzz", "", "%", "e" * 200])
def test_an_unknown_reference_says_what_there_is(
    store: Store, workstream: Workstream, reference: str
) -> None:
    fill(store, workstream)
    with pytest.raises(UnavailableError, match="there is no event") as raised:
        events.get(store, workstream, reference)
    assert raised.value.next_step


def test_events_of_another_workstream_are_not_found(store: Store, workstream: Workstream) -> None:
    from ledger import workstreams

    other = workstreams.create(store, workstream.repository, "other")
    fill(store, workstream)
    assert events.log(store, other) == []
    with pytest.raises(UnavailableError, match="no events yet"):
        events.get(store, other, "e1")


def test_a_forgotten_event_stays_without_text(store: Store, workstream: Workstream) -> None:
    fill(store, workstream, 2)
    forget(store, events=[events.get(store, workstream, "e1").event_id], who="ada")
    row = events.get(store, workstream, "e1")
    assert (row.text, row.status, row.bytes) == ("", "forgotten", 0)
    assert events.body(store, row.eid) is None


def test_counts_are_by_kind(store: Store, workstream: Workstream) -> None:
    session = link(store, workstream)
    apply(store, session, [event(0), event(1), event(2, kind=Kind.ASSISTANT_MESSAGE)])
    assert events.counts(store, workstream) == {"assistant_message": 1, "user_message": 2}


def test_a_damaged_text_is_an_error_that_names_verify(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(0, "x" * 40_000)])
    store.db.execute("UPDATE body SET data = x'00112233'")
    with pytest.raises(StateCorruptError, match="workstream verify"):
        events.get(store, workstream, "e1")
    assert events.log(store, workstream, text_bytes=10)[0].text == ""


def test_an_empty_text_is_not_truncated(store: Store, workstream: Workstream) -> None:
    apply(store, link(store, workstream), [event(0, "")])
    row = events.log(store, workstream, text_bytes=10)[0]
    assert (row.text, row.truncated) == ("", False)

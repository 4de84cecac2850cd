from __future__ import annotations

from collections.abc import Iterable
from itertools import count

import pytest

from importers.base import Item, Kind, Loss, Mark, Sighting
from ledger import checkpoints, deliveries, deltas, events
from ledger.deltas import Delta, unseen
from ledger.errors import UnavailableError
from ledger.forget import forget
from ledger.gitstate import GitState
from ledger.model import EventRow, SessionRow, Workstream
from ledger.store import Store, open_store
from tests.ledger.making import START, apply, event, link, start_run

_number = count(1)
CLEAN = GitState(head="abc", tree="def", branch="main", paths={}, dirty_digest=None)


def codex(store: Store, workstream: Workstream, name: str = "codex-1") -> SessionRow:
    return link(store, workstream, name)


def claude(store: Store, workstream: Workstream, name: str = "claude-1") -> SessionRow:
    return link(store, workstream, name, harness="claude", entry="claude", home="/stores/claude")


def add(
    store: Store, session: SessionRow, records: Iterable[int], kind: Kind = Kind.USER_MESSAGE
) -> None:
    apply(
        store,
        session,
        [
            event(n, f"{session.native_id} {n}", name=f"{session.native_id}-{n}", kind=kind)
            for n in records
        ],
    )


def show(
    store: Store,
    workstream: Workstream,
    receiver: SessionRow,
    delta: Delta,
    included: Iterable[tuple[int, int]],
    *,
    record: int = 900,
    active: bool = True,
) -> None:
    """Deliver a briefing from a delta: printed, and found in the receiver's store."""
    included = list(included)
    run = start_run(store, workstream)
    made = deliveries.add_briefing(
        store,
        run,
        purpose="session",
        session=receiver,
        text="…",
        after_seq=delta.after,
        through_seq=delta.through,
        included=included,
        omitted=delta.left_out(included),
        marks_through=delta.marks_through,
        notes_through=0,
    )
    name = f"dlv_{next(_number)}"
    deliveries.record_printed(
        store, name, run, made, channel="hook", source="resume", session=receiver, at=START
    )
    sighted: list[Item] = [Sighting(delivery=name, depth=record, record=record, active=active)]
    apply(store, receiver, sighted)


def seqs(rows: Iterable[EventRow]) -> list[int]:
    return [row.seq for row in rows]


def test_a_new_session_is_due_everything_newest_first(store: Store, workstream: Workstream) -> None:
    add(store, codex(store, workstream), range(3))
    delta = unseen(store, workstream, None)
    assert (delta.after, delta.through, seqs(delta.events)) == (0, 3, [3, 2, 1])
    assert (delta.beyond, delta.more, delta.owed) == ((), False, ())


def test_a_session_is_not_due_its_own_events(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, mine, range(2))
    add(store, other, range(2))
    add(store, mine, range(2, 4))
    assert seqs(unseen(store, workstream, mine).events) == [4, 3]
    assert seqs(unseen(store, workstream, other).events) == [6, 5, 2, 1]


def test_nothing_by_others_is_nothing_due(store: Store, workstream: Workstream) -> None:
    mine = codex(store, workstream)
    add(store, mine, range(30))
    checkpoints.record(store, workstream, CLEAN, session=mine, worktree="/project")
    delta = unseen(store, workstream, mine, bound=10)
    assert (delta.events, delta.beyond, delta.left_out(())) == ((), (), ())


def test_what_a_seen_briefing_brought_is_not_due_again(
    store: Store, workstream: Workstream
) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, mine, range(2))
    add(store, other, range(3))
    show(store, workstream, mine, unseen(store, workstream, mine), [(3, 5)])
    add(store, other, range(3, 5))
    delta = unseen(store, workstream, mine)
    assert (delta.after, seqs(delta.events), delta.owed) == (5, [7, 6], ())


def test_a_briefing_on_a_rewound_record_is_due_again(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, range(3))
    show(store, workstream, mine, unseen(store, workstream, mine), [(1, 3)])
    assert seqs(unseen(store, workstream, mine).events) == []
    apply(store, mine, [Mark(first=900, last=900, active=False)])
    assert seqs(unseen(store, workstream, mine).events) == [3, 2, 1]


def test_another_session_s_briefing_counts_for_that_one_only(
    store: Store, workstream: Workstream
) -> None:
    first, second = codex(store, workstream), codex(store, workstream, "codex-2")
    add(store, claude(store, workstream), range(2))
    show(store, workstream, first, unseen(store, workstream, first), [(1, 2)])
    assert seqs(unseen(store, workstream, second).events) == [2, 1]


def test_omitted_events_stay_owed_the_person_s_first(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, [0, 1])
    add(store, other, [2, 3, 4], Kind.ASSISTANT_MESSAGE)
    delta = unseen(store, workstream, mine)
    assert delta.left_out([(5, 5)]) == ((1, 4),)
    show(store, workstream, mine, delta, [(5, 5)])
    add(store, other, [5])
    later = unseen(store, workstream, mine)
    assert (seqs(later.events), seqs(later.owed), later.owed_beyond) == ([6], [2, 1, 4, 3], ())
    show(store, workstream, mine, later, [(6, 6), (1, 2)], record=901)
    last = unseen(store, workstream, mine)
    assert (seqs(last.events), seqs(last.owed)) == ([], [4, 3])
    assert last.left_out(()) == ((3, 4),)


def test_archive_sessions_and_checkpoints_are_not_due(store: Store, workstream: Workstream) -> None:
    old = link(store, workstream, "old", origin="archive", deliver=False)
    add(store, old, range(2))
    checkpoints.record(store, workstream, CLEAN, worktree="/project")
    add(store, claude(store, workstream), range(1))
    assert seqs(unseen(store, workstream, None).events) == [4]


def test_an_archived_event_that_a_delivering_session_carries_is_due(
    store: Store, workstream: Workstream
) -> None:
    old = link(store, workstream, "old", origin="archive", deliver=False)
    apply(store, old, [event(0, name="shared"), event(1, name="only old")])
    apply(store, claude(store, workstream), [])
    fork = codex(store, workstream, "fork")
    shared = link(store, workstream, "old-fork")
    apply(store, shared, [event(0, name="shared")])
    assert seqs(unseen(store, workstream, fork).events) == [1]


def test_losses_are_due(store: Store, workstream: Workstream) -> None:
    loss = Loss(position="x.jsonl@10", reason="torn_line", detail="cut", record=1)
    apply(store, claude(store, workstream), [event(0), loss])
    delta = unseen(store, workstream, None)
    assert (delta.events[0].kind, delta.events[0].status) == ("annotation", "torn_line")


def test_superseded_events_are_not_due(store: Store, workstream: Workstream) -> None:
    other = claude(store, workstream)
    add(store, other, range(4))
    apply(store, other, [Mark(first=1, last=2, active=False)])
    assert seqs(unseen(store, workstream, None).events) == [4, 1]


def test_an_event_that_lives_on_in_a_fork_is_due_once(store: Store, workstream: Workstream) -> None:
    other, fork = codex(store, workstream, "a"), codex(store, workstream, "b")
    apply(store, other, [event(0), event(1)])
    apply(store, fork, [event(0), event(1)])
    apply(store, other, [Mark(first=0, last=1, active=False)])
    assert seqs(unseen(store, workstream, None).events) == [2, 1]


def test_an_event_that_the_receiver_rewound_but_a_fork_kept_is_due(
    store: Store, workstream: Workstream
) -> None:
    mine, fork = codex(store, workstream, "a"), codex(store, workstream, "b")
    apply(store, mine, [event(0), event(1)])
    apply(store, fork, [event(0), event(1)])
    apply(store, mine, [Mark(first=1, last=1, active=False)])
    assert seqs(unseen(store, workstream, mine).events) == [2]


def test_a_session_born_by_clear_starts_with_what_comes_after(
    store: Store, workstream: Workstream
) -> None:
    other = claude(store, workstream)
    add(store, other, range(3))
    born = link(store, workstream, "cleared", born="clear", born_through=3)
    add(store, other, range(3, 5))
    assert seqs(unseen(store, workstream, born).events) == [5, 4]


def test_forgotten_events_are_not_due(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, range(4))
    show(store, workstream, mine, unseen(store, workstream, mine), [(1, 2)])
    for reference in ("e1", "e3"):
        forget(store, events=[events.get(store, workstream, reference).event_id], who="ada")
    assert seqs(unseen(store, workstream, None).events) == [4, 2]
    assert seqs(unseen(store, workstream, mine).owed) == [4]


# --- branches -------------------------------------------------------------------------------------


def test_what_was_rewound_elsewhere_since_is_withdrawn_once(
    store: Store, workstream: Workstream
) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, range(4))
    show(store, workstream, mine, unseen(store, workstream, mine), [(1, 4)])
    apply(store, other, [Mark(first=2, last=3, active=False)])
    delta = unseen(store, workstream, mine)
    assert (delta.withdrawn, delta.restored, delta.events) == (((3, 4),), (), ())
    show(store, workstream, mine, delta, [], record=901)
    assert unseen(store, workstream, mine).withdrawn == ()


def test_a_branch_taken_up_again_is_restored(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, range(3))
    show(store, workstream, mine, unseen(store, workstream, mine), [(1, 3)])
    apply(store, other, [Mark(first=1, last=2, active=False)])
    show(store, workstream, mine, unseen(store, workstream, mine), [], record=901)
    apply(store, other, [Mark(first=1, last=2, active=True)])
    delta = unseen(store, workstream, mine)
    assert (delta.withdrawn, delta.restored, delta.owed) == ((), ((2, 3),), ())


def test_what_is_known_to_be_withdrawn_is_not_withdrawn_again(
    store: Store, workstream: Workstream
) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, range(3))
    show(store, workstream, mine, unseen(store, workstream, mine), [(1, 3)])
    apply(store, other, [Mark(first=1, last=2, active=False)])
    show(store, workstream, mine, unseen(store, workstream, mine), [], record=901)
    apply(store, other, [Mark(first=1, last=2, active=True)])
    apply(store, other, [Mark(first=1, last=2, active=False)])
    assert unseen(store, workstream, mine).withdrawn == ()


def test_back_and_forth_between_two_briefings_is_nothing(
    store: Store, workstream: Workstream
) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, range(3))
    show(store, workstream, mine, unseen(store, workstream, mine), [(1, 3)])
    apply(store, other, [Mark(first=1, last=2, active=False)])
    apply(store, other, [Mark(first=1, last=2, active=True)])
    delta = unseen(store, workstream, mine)
    assert (delta.withdrawn, delta.restored) == ((), ())


def test_a_branch_that_was_superseded_when_the_briefing_was_made_is_owed_once_it_is_back(
    store: Store, workstream: Workstream
) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, range(3))
    apply(store, other, [Mark(first=1, last=2, active=False)])
    show(store, workstream, mine, unseen(store, workstream, mine), [(1, 1)])
    apply(store, other, [Mark(first=1, last=2, active=True)])
    delta = unseen(store, workstream, mine)
    assert (seqs(delta.owed), delta.restored) == ([3, 2], ())
    assert delta.left_out(()) == ((2, 3),)


def test_the_receiver_s_own_rewind_withdraws_nothing(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, mine, range(2))
    add(store, other, range(2))
    show(store, workstream, mine, unseen(store, workstream, mine), [(3, 4)])
    apply(store, mine, [Mark(first=0, last=1, active=False)])
    assert unseen(store, workstream, mine).withdrawn == ()


# --- bounds ---------------------------------------------------------------------------------------


def test_beyond_the_bound_there_are_ranges(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, mine, range(5))
    add(store, other, range(50))
    delta = unseen(store, workstream, mine, bound=10)
    assert seqs(delta.events) == list(range(55, 45, -1))
    assert (delta.beyond, delta.more) == (((6, 45),), True)
    assert delta.left_out([(46, 55)]) == ((6, 45),)
    assert delta.count_left_out([(50, 55)]) == 4


def test_what_several_sessions_have_beyond_the_bound_together_is_a_range(
    store: Store, workstream: Workstream
) -> None:
    add(store, codex(store, workstream), range(6))
    add(store, claude(store, workstream), range(6))
    delta = unseen(store, workstream, None, bound=10)
    assert seqs(delta.events) == list(range(12, 2, -1))
    assert delta.beyond == ((1, 2),)


def test_archive_events_inside_an_owed_range_are_not_owed(
    store: Store, workstream: Workstream
) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    old = link(store, workstream, "old", origin="archive", deliver=False)
    add(store, other, range(2))
    add(store, old, range(3))
    add(store, other, range(2, 4))
    delta = unseen(store, workstream, mine, bound=1)
    assert delta.beyond == ((1, 6),)
    show(store, workstream, mine, delta, [(7, 7)])
    assert seqs(unseen(store, workstream, mine).owed) == [6, 2, 1]


def test_ranges_beyond_the_bound_are_owed_later(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, range(30))
    delta = unseen(store, workstream, mine, bound=10)
    show(store, workstream, mine, delta, [(21, 30)])
    later = unseen(store, workstream, mine)
    assert (seqs(later.events), seqs(later.owed)) == ([], list(range(20, 0, -1)))


def test_the_person_s_words_are_found_in_a_long_owed_range(
    store: Store, workstream: Workstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deltas, "OWED", 10)
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, other, [0])
    add(store, other, range(1, 100), Kind.ASSISTANT_MESSAGE)
    delta = unseen(store, workstream, mine)
    show(store, workstream, mine, delta, [])
    later = unseen(store, workstream, mine)
    assert seqs(later.owed) == [1, *range(100, 90, -1)]
    assert (later.owed_beyond, later.more) == (((2, 90),), True)
    assert later.left_out(()) == ((1, 100),)


def test_a_long_text_keeps_its_beginning_and_end(store: Store, workstream: Workstream) -> None:
    text = "start " + "x" * 100_000 + " end"
    apply(store, claude(store, workstream), [event(0, text), event(1, "y" * 20_000)])
    whole, clipped = unseen(store, workstream, None).events
    assert (whole.text, whole.truncated) == ("y" * 20_000, False)
    assert clipped.text.startswith("start ")
    assert clipped.text.endswith(" end")
    assert clipped.truncated
    assert len(clipped.text) < deltas.CLIP + 100


def test_the_texts_of_a_delta_are_bounded_together(
    store: Store, workstream: Workstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deltas, "_TEXT_BUDGET", 10_000)
    monkeypatch.setattr(deltas, "_CHUNK", 2)
    other = claude(store, workstream)
    apply(store, other, [event(n, "z" * 4000, name=f"{n}") for n in range(10)])
    delta = unseen(store, workstream, None)
    assert seqs(delta.events) == [10, 9, 8, 7]
    assert delta.left_out(()) == ((1, 10),)


def test_the_work_does_not_grow_with_the_history(store: Store, workstream: Workstream) -> None:
    mine, other = codex(store, workstream), claude(store, workstream)
    add(store, mine, range(500))
    add(store, other, range(500))
    show(store, workstream, mine, unseen(store, workstream, mine), [(501, 1000)])
    add(store, other, range(500, 510))

    def steps() -> int:
        ticks: list[int] = []
        store.db.set_progress_handler(lambda: ticks.append(1), 20)
        unseen(store, workstream, mine, bound=10)
        store.db.set_progress_handler(None, 0)
        return len(ticks)

    before = steps()
    show(store, workstream, mine, unseen(store, workstream, mine), [(1001, 1010)], record=901)
    add(store, mine, range(500, 2500))
    add(store, other, range(510, 520))
    assert steps() <= before * 1.3


def test_a_reader_s_connection_is_enough(store: Store, workstream: Workstream) -> None:
    add(store, claude(store, workstream), range(2))
    with open_store(store.home, "ro") as reader:
        assert seqs(unseen(reader, workstream, None).events) == [2, 1]
        assert not reader.db.in_transaction


def test_an_unknown_workstream_is_an_error(store: Store) -> None:
    with pytest.raises(UnavailableError):
        unseen(store, 77, None)


# --- order ----------------------------------------------------------------------------------------


def texts(store: Store, workstream: Workstream) -> list[str]:
    found = events.log(store, workstream, limit=0)
    return [row.text for row in deltas.conversation_order(store, reversed(found))]


def test_inside_a_session_its_own_order_rules(store: Store, workstream: Workstream) -> None:
    late = event(0, "first", at=START + 900)
    apply(store, codex(store, workstream), [event(2, "third"), late, event(1, "second", block=1)])
    assert texts(store, workstream) == ["first", "second", "third"]


def test_sessions_are_merged_by_time(store: Store, workstream: Workstream) -> None:
    apply(store, codex(store, workstream), [event(0, "a", at=10), event(1, "d", at=40)])
    apply(store, claude(store, workstream), [event(0, "b", at=20), event(1, "c", at=30)])
    assert texts(store, workstream) == ["a", "b", "c", "d"]


def test_an_event_given_twice_is_returned_once(store: Store, workstream: Workstream) -> None:
    add(store, codex(store, workstream), range(1))
    row = events.get(store, workstream, "e1")
    assert deltas.conversation_order(store, [row, row]) == [row]

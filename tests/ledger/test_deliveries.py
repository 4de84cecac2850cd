from __future__ import annotations

from collections.abc import Sequence

import pytest

from importers.base import Kind, Mark, Sighting
from ledger import deliveries, runs, sessions
from ledger.errors import UnavailableError
from ledger.fencing import LeaseLostError
from ledger.model import BriefingRow, DeliveryState, RunRow, SessionRow, SessionState, Workstream
from ledger.ranges import merged, without
from ledger.store import Store
from tests.ledger.making import START, apply, event, hold_lease, link, start_run


@pytest.fixture
def run(store: Store, workstream: Workstream) -> RunRow:
    return start_run(store, workstream)


@pytest.fixture
def session(store: Store, workstream: Workstream, run: RunRow) -> SessionRow:
    return link(store, workstream, run=run.id)


def brief(
    store: Store,
    run: RunRow,
    *,
    after: int = 0,
    through: int = 10,
    omitted: Sequence[tuple[int, int]] = (),
    included: Sequence[tuple[int, int]] | None = None,
) -> BriefingRow:
    return deliveries.add_briefing(
        store,
        run,
        purpose="new",
        session=None,
        text="größe dlv_@@@@@@@@@@_@@@@",
        after_seq=after,
        through_seq=through,
        included=[(after + 1, through)] if included is None else included,
        omitted=omitted,
        marks_through=through * 2,
        notes_through=through * 3,
    )


def deliver(
    store: Store, run: RunRow, session: SessionRow, name: str, record: int, **options: object
) -> BriefingRow:
    """Print a briefing under a name and let it be found in the session."""
    row = brief(store, run, **options)  # type: ignore[arg-type]
    printed(store, run, row, name, session)
    apply(store, session, [Sighting(delivery=name, depth=record, record=record)])
    return row


def printed(
    store: Store, run: RunRow, row: BriefingRow, name: str, session: SessionRow | None
) -> None:
    deliveries.record_printed(
        store, name, run, row, channel="hook", source="startup", session=session, at=1
    )


def outcome(store: Store, name: str) -> tuple[str, str | None]:
    row = deliveries.get(store, name)
    assert row is not None
    return (row.state, row.reason)


def test_a_briefing_is_stored_as_composed(store: Store, run: RunRow) -> None:
    row = brief(store, run, omitted=[(8, 9), (3, 3), (9, 10)])
    assert deliveries.briefing(store, row.id) == row
    assert deliveries.briefings_of_run(store, run) == [row]
    assert row.omitted == ((3, 3), (8, 10))
    assert row.bytes == len(row.text.encode())
    with pytest.raises(UnavailableError):
        deliveries.briefing(store, row.id + 1)


def test_what_was_printed_is_not_yet_seen(store: Store, run: RunRow, session: SessionRow) -> None:
    printed(store, run, brief(store, run), "dlv_a", session)
    assert outcome(store, "dlv_a") == (DeliveryState.LAUNCHED, None)
    assert deliveries.seen_through(store, session) == 0
    assert deliveries.seen_briefings(store, session) == []


def test_a_delivery_on_the_active_chain_is_seen(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    row = deliver(store, run, session, "dlv_a", 3, omitted=[(4, 6)])
    (settled,) = deliveries.settle(store, run)
    assert (settled.id, settled.state, settled.session) == ("dlv_a", "seen", session.id)
    assert deliveries.seen_through(store, session) == 10
    assert deliveries.seen_briefings(store, session) == [row]
    assert deliveries.owed(store, session) == [(4, 6)]
    assert deliveries.notes_seen(store, session) == 30


def test_a_rewind_withdraws_a_delivery_and_going_back_restores_it(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    deliver(store, run, session, "dlv_a", 3)
    deliveries.settle(store, run)
    apply(store, session, [Mark(first=2, last=5, active=False)])
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("failed", "rewound")
    assert deliveries.seen_through(store, session) == 0
    apply(store, session, [Mark(first=2, last=5, active=True)])
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("seen", None)


def test_a_later_run_withdraws_what_an_earlier_one_delivered(
    store: Store, workstream: Workstream, run: RunRow, session: SessionRow
) -> None:
    deliver(store, run, session, "dlv_a", 3)
    deliveries.settle(store, run)
    later = start_run(store, workstream)
    runs.touch_session(store, later, session, "resume")
    apply(store, session, [Mark(first=0, last=9, active=False)])
    assert deliveries.settle(store, later) == []
    assert outcome(store, "dlv_a") == ("failed", "rewound")


def test_a_fork_inherits_what_was_seen_before_it(
    store: Store, workstream: Workstream, run: RunRow, session: SessionRow
) -> None:
    deliver(store, run, session, "dlv_a", 3)
    fork = link(store, workstream, "fork")
    apply(store, fork, [Sighting(delivery="dlv_a", depth=3, record=3)])
    assert deliveries.seen_through(store, fork) == 10
    apply(store, session, [Mark(first=0, last=9, active=False)])
    assert deliveries.seen_through(store, session) == 0
    assert deliveries.seen_through(store, fork) == 10
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("seen", None)


@pytest.mark.parametrize("known", [True, False])
def test_what_was_printed_and_is_not_in_the_store_failed(
    store: Store, run: RunRow, session: SessionRow, known: bool
) -> None:
    printed(store, run, brief(store, run), "dlv_a", session if known else None)
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("failed", "not_found")


def test_a_store_that_cannot_be_read_proves_nothing(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    printed(store, run, brief(store, run), "dlv_a", session)
    sessions.set_state(store, session, SessionState.UNREADABLE, "permission")
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("unverified", "unreadable")


def test_a_channel_without_proof_stays_unverified_unless_it_is_found(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    row = brief(store, run)
    deliveries.record_printed(
        store,
        "dlv_a",
        run,
        row.id,
        channel="system_prompt",
        source=None,
        session=session,
        at=1,
        proof=False,
    )
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("unverified", "no_proof")
    apply(store, session, [Sighting(delivery="dlv_a", depth=1, record=1)])
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("seen", None)


def test_an_acknowledged_delivery_stays_acknowledged(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    deliver(store, run, session, "dlv_a", 3)
    store.db.execute("UPDATE delivery SET state = 'acknowledged'")
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("acknowledged", None)


def test_nothing_is_settled_without_the_lease(
    store: Store, workstream: Workstream, run: RunRow, session: SessionRow
) -> None:
    deliver(store, run, session, "dlv_a", 3)
    hold_lease(store, workstream, token=2)
    with pytest.raises(LeaseLostError):
        deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("launched", None)


def test_printing_again_only_fills_in_the_session(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    row = brief(store, run)
    printed(store, run, row, "dlv_a", None)
    printed(store, run, row, "dlv_a", session)
    (only,) = deliveries.of_run(store, run)
    assert (only.session, only.state) == (session.id, "launched")


def test_a_sighting_of_another_workstreams_briefing_counts_for_nothing(
    store: Store, workstream: Workstream, run: RunRow
) -> None:
    from ledger import workstreams

    other = workstreams.create(store, workstream.repository, "other")
    stranger = link(store, other, "stranger")
    deliver(store, run, stranger, "dlv_a", 3)
    assert deliveries.seen_through(store, stranger) == 0


def test_birth_by_clear_is_a_floor(store: Store, workstream: Workstream, run: RunRow) -> None:
    born = link(store, workstream, "cleared", born="clear", born_through=25)
    assert deliveries.seen_through(store, born) == 25
    deliver(store, run, born, "dlv_a", 1, through=10)
    assert deliveries.seen_through(store, born) == 25
    deliver(store, run, born, "dlv_b", 2, through=40)
    assert deliveries.seen_through(store, born) == 40


def test_what_was_omitted_is_owed_until_a_seen_briefing_brings_it(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    deliver(store, run, session, "dlv_a", 1, omitted=[(2, 8)], included=[(1, 1), (9, 10)])
    deliver(store, run, session, "dlv_b", 2, after=10, through=20, included=[(4, 5), (11, 20)])
    assert deliveries.owed(store, session) == [(2, 3), (6, 8)]
    apply(store, session, [Mark(first=2, last=2, active=False)])
    assert deliveries.owed(store, session) == [(2, 8)]


@pytest.mark.parametrize(
    ("ranges", "taken", "left"),
    [
        ([(1, 10)], [], ((1, 10),)),
        ([(1, 10)], [(0, 11)], ()),
        ([(1, 10)], [(3, 4), (6, 6)], ((1, 2), (5, 5), (7, 10))),
        ([(1, 3), (5, 9)], [(2, 6)], ((1, 1), (7, 9))),
        ([(5, 9), (1, 3)], [(10, 12), (9, 9), (0, 1)], ((2, 3), (5, 8))),
        ([(1, 3), (4, 6), (9, 8)], [], ((1, 6),)),
    ],
)
def test_ranges_without_others(
    ranges: list[tuple[int, int]],
    taken: list[tuple[int, int]],
    left: tuple[tuple[int, int], ...],
) -> None:
    assert without(ranges, taken) == left
    numbers = {n for first, last in ranges for n in range(first, last + 1)}
    gone = {n for first, last in taken for n in range(first, last + 1)}
    assert {n for first, last in left for n in range(first, last + 1)} == numbers - gone
    assert merged(left) == left


# --- channels that leave no proof -----------------------------------------------------------------


def tell(
    store: Store, run: RunRow, session: SessionRow | None, name: str, at: int | None = None
) -> BriefingRow:
    """Print a briefing over a channel without proof, at the start or at a time."""
    row = brief(store, run, omitted=[(4, 6)])
    deliveries.record_printed(
        store,
        name,
        run,
        row,
        channel="instructions",
        source=deliveries.AT_START if at is None else "clear",
        session=session,
        at=START if at is None else at,
        proof=False,
    )
    return row


def answer(store: Store, run: RunRow, session: SessionRow, record: int) -> None:
    """Let the session answer in a run."""
    runs.touch_session(store, run, session.id, "startup", ordinal=0)
    said = event(record, "done", kind=Kind.ASSISTANT_MESSAGE)
    apply(store, session, [said], run=run.id)


def test_a_session_that_answered_was_told_and_has_not_seen(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    row = tell(store, run, session, "dlv_a")
    answer(store, run, session, 1)
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("unverified", "no_proof")
    assert deliveries.seen_through(store, session) == 0
    assert deliveries.seen_briefings(store, session) == []
    assert deliveries.seen_through(store, session, told=True) == 10
    assert deliveries.seen_briefings(store, session, told=True) == [row]
    assert deliveries.owed(store, session, told=True) == [(4, 6)]
    assert deliveries.notes_seen(store, session, told=True) == 30


def test_a_session_that_did_not_answer_was_told_nothing(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    tell(store, run, session, "dlv_a")
    apply(store, session, [event(1, "a question")], run=run.id)
    deliveries.settle(store, run)
    assert outcome(store, "dlv_a") == ("unverified", "no_proof")
    assert deliveries.seen_through(store, session, told=True) == 0


def test_an_answer_of_another_run_tells_nothing(
    store: Store, workstream: Workstream, run: RunRow, session: SessionRow
) -> None:
    earlier = start_run(store, workstream)
    answer(store, earlier, session, 1)
    tell(store, run, session, "dlv_a")
    deliveries.settle(store, run)
    assert deliveries.seen_through(store, session, told=True) == 0


def test_an_answer_before_the_printing_tells_nothing(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    tell(store, run, session, "dlv_a", at=START + 5)
    answer(store, run, session, 4)
    deliveries.settle(store, run)
    assert deliveries.seen_through(store, session, told=True) == 0
    answer(store, run, session, 6)
    deliveries.settle(store, run)
    assert deliveries.seen_through(store, session, told=True) == 10


def test_a_new_session_that_was_told_at_the_start_is_found_out_by_its_words(
    store: Store, workstream: Workstream, run: RunRow, session: SessionRow
) -> None:
    silent, new = (link(store, workstream, name) for name in ("silent", "new"))
    runs.touch_session(store, run, silent.id, "startup", ordinal=0)
    runs.touch_session(store, run, new.id, "startup", ordinal=1)
    tell(store, run, None, "dlv_a")
    apply(store, new, [event(1, "done", kind=Kind.ASSISTANT_MESSAGE)], run=run.id)
    deliveries.settle(store, run)
    known = {
        row.native_id: deliveries.seen_through(store, row, told=True)
        for row in (session, silent, new)
    }
    assert known == {session.native_id: 0, "silent": 0, "new": 10}


def test_a_fork_inherits_what_was_told_and_a_rewind_withdraws_it(
    store: Store, workstream: Workstream, run: RunRow, session: SessionRow
) -> None:
    tell(store, run, session, "dlv_a")
    answer(store, run, session, 3)
    deliveries.settle(store, run)
    fork = link(store, workstream, "fork")
    apply(store, fork, [event(3, "done", kind=Kind.ASSISTANT_MESSAGE)])
    assert deliveries.seen_through(store, fork, told=True) == 10
    apply(store, session, [Mark(first=3, last=3, active=False)])
    assert deliveries.seen_through(store, session, told=True) == 0
    assert deliveries.seen_through(store, fork, told=True) == 10


def test_what_was_told_is_settled_the_same_when_it_is_settled_again(
    store: Store, run: RunRow, session: SessionRow
) -> None:
    tell(store, run, session, "dlv_a")
    answer(store, run, session, 1)
    first = deliveries.settle(store, run)
    answer(store, run, session, 2)
    assert [row.answer for row in deliveries.settle(store, run)] == [row.answer for row in first]

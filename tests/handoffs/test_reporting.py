"""The report: density, stale workstreams, what was never received, sessions without a handoff."""

from __future__ import annotations

import pytest

from handoffs.models import ActorKind, Author, Disposition, ReceiptStatus
from handoffs.store import answering, receiving, reporting
from handoffs.store.answering import Answer
from handoffs.store.reporting import IDLE_MS, STALE_MS, Entry, Stale
from importers.base import Kind, Turn
from ledger import facts, workstreams
from ledger.store import Store
from tests.handoffs.setting import ALL_CONFIRMED, Setting
from tests.handoffs.test_drafting import see
from tests.ledger.making import START, SetClock, event, start_run

DAY = 86_400_000


def entry(here: Setting) -> Entry:
    (found,) = reporting.report(here.store, None).entries
    return found


def later(here: Setting, ms: int) -> None:
    clock = here.store.clock
    assert isinstance(clock, SetClock)
    clock.now += ms


def compacted(here: Setting, times: int, harness: str = "codex") -> None:
    here.add(
        *(event(here.record(), "", kind=Kind.COMPACTION) for _ in range(times)), harness=harness
    )


def turns(here: Setting, number: int) -> None:
    here.add(*(Turn(turn=f"t{n}", state="complete", record=n) for n in range(number)))


def test_an_empty_workstream_has_nothing_to_tell(here: Setting) -> None:
    found = entry(here)
    assert (found.leading, found.stale, found.never_received, found.unsaved) == (None, (), (), ())
    assert (found.per_session, found.per_100_turns, found.idle_ms) == (None, None, None)


def test_density_is_handoffs_by_somebody_against_sessions_and_turns(here: Setting) -> None:
    here.says("one")
    here.says("two", harness="claude")
    turns(here, 40)
    here.committed(here.content())
    here.prepare(here.content(words="`b.py` is next"))
    found = entry(here)
    assert (found.handoffs, found.work.sessions, found.work.turns) == (2, 2, 40)
    assert (found.per_session, found.per_100_turns) == (1.0, 5.0)


def test_turns_are_counted_up_to_a_limit_and_the_rate_is_left_out_then(
    here: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "_COUNTED", 3)
    turns(here, 5)
    here.committed(here.content())
    found = entry(here)
    assert (found.work.turns, found.work.turns_capped, found.per_100_turns) == (3, True, None)


def test_work_without_any_handoff_is_stale(here: Setting) -> None:
    here.says("one")
    assert entry(here).stale == (Stale.NO_HANDOFF,)


def test_a_handoff_falls_behind_by_events_or_by_age(here: Setting) -> None:
    here.says("one")
    here.committed(here.content())
    assert entry(here).stale == ()
    later(here, STALE_MS + 1)
    assert entry(here).stale == ()  # old, and nothing came after it
    here.add(event(here.record(), "two", at=START + STALE_MS))
    assert entry(here).stale == (Stale.BEHIND,)
    here.committed(here.content(words="`b.py` is next"))
    here.add(*(event(here.record(), "x", at=START + STALE_MS) for _ in range(201)))
    assert entry(here).stale == (Stale.BEHIND,)


def test_work_that_was_left_lying_is_stale_unless_it_is_complete(here: Setting) -> None:
    here.says("one")
    here.committed(here.content())
    later(here, IDLE_MS + DAY)
    assert entry(here).stale == (Stale.IDLE,)
    done = here.content(disposition=Disposition.COMPLETE, next_action=None)
    here.committed(done)
    assert entry(here).stale == ()


def test_what_nobody_was_shown_is_named_until_it_is_answered(here: Setting) -> None:
    here.committed(here.content())
    later(here, 1000)
    other = here.prepare(here.content(words="`b.py` is next")).prepared.prepared_id
    assert entry(here).never_received == (other, "r1")
    here.commit(other)
    assert entry(here).never_received == ("r2", "r1")
    received = receiving.receive(here.store, here.workstream, "r2", here.tree)
    assert received is not None
    answer = Answer(
        receipt_key="k",
        receiver=Author(kind=ActorKind.HUMAN, owner="ada"),
        session=None,
        status=ReceiptStatus.ACCEPTED,
        checks=ALL_CONFIRMED,
        message=None,
    )
    answering.acknowledge(here.store, here.workstream, received, answer, holder=here.holder)
    found = entry(here)
    assert (found.never_received, found.awaiting) == (("r1",), ("r2",))


def test_a_handoff_that_a_session_has_seen_was_received(here: Setting) -> None:
    here.says("one", harness="claude")
    made = here.committed(here.content())
    run = start_run(here.store, here.workstream, worktree=str(here.tree))
    see(here, run, made.revision.content_digest, "claude")
    assert entry(here).never_received == ()


def test_sessions_compacted_often_since_the_last_handoff_are_named(here: Setting) -> None:
    here.says("one")
    compacted(here, 1)
    assert entry(here).unsaved == ()
    compacted(here, 2)
    compacted(here, 2, "claude")
    assert entry(here).unsaved == (("native-codex", 3), ("native-claude", 2))
    here.committed(here.content())
    assert entry(here).unsaved == ()
    compacted(here, 2)
    assert entry(here).unsaved == (("native-codex", 2),)


def test_pages_name_what_is_left_out(here: Setting) -> None:
    repository = here.workstream.repository
    for number in range(4):
        later(here, 1000)
        workstreams.create(here.store, repository, f"w{number}")
    first = reporting.report(here.store, repository, limit=2)
    assert ([e.workstream.name for e in first.entries], first.left_out) == (["w3", "w2"], 3)
    last = reporting.report(here.store, repository, limit=2, skip=4)
    assert ([e.workstream.name for e in last.entries], last.left_out) == (["main"], 0)
    assert reporting.report(here.store, "another").entries == ()


def test_a_damaged_row_leaves_the_rest_of_the_report(here: Setting) -> None:
    here.says("one")
    here.committed(here.content())
    here.store.db.execute("UPDATE handoff_revision SET content = '{}'")
    found = entry(here)
    assert (found.damaged, found.revisions, found.never_received) == (True, 1, ())


def steps(store: Store, here: Setting) -> int:
    """Return how much SQLite works for one report."""
    count = 0

    def step() -> int:
        nonlocal count
        count += 1
        return 0

    store.db.set_progress_handler(step, 20)
    try:
        reporting.report(store, here.workstream.repository)
    finally:
        store.db.set_progress_handler(None, 0)
    return count


def test_the_cost_does_not_grow_with_the_history(here: Setting) -> None:
    def work(events: int) -> None:
        here.add(*(event(here.record(), "x") for _ in range(events)))
        for _ in range(12):
            here.committed(here.content(words=f"`a{here.record()}.py` is next"))

    work(300)
    before = steps(here.store, here)
    work(3000)
    assert steps(here.store, here) < 1.5 * before

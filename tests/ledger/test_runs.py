from __future__ import annotations

import pytest

from importers.base import Kind, Limit, Loss
from ledger import limits, runs, sessions
from ledger.errors import UnavailableError
from ledger.fencing import LeaseLostError
from ledger.model import Outcome, Step, Workstream
from ledger.store import Store
from tests.ledger.making import START, SetClock, apply, event, hold_lease, link, start_run


def test_a_run_starts_planned_at_the_head_of_its_workstream(
    store: Store, workstream: Workstream
) -> None:
    apply(store, link(store, workstream), [event(0), event(1)])
    run = start_run(store, workstream, argv=["codex", "--api-key", "hunter2hunter2"])
    assert (run.step, run.outcome, run.head_before) == (Step.PLANNED, None, 2)
    assert run.argv[:2] == ("codex", "--api-key")
    assert "hunter2" not in run.argv[2]
    assert runs.get(store, run.id) == run
    assert runs.last(store, workstream) == run
    assert runs.find(store, "run_none") is None


def test_a_run_is_created_only_under_the_lease(store: Store, workstream: Workstream) -> None:
    start_run(store, workstream)
    hold_lease(store, workstream, token=2)
    with pytest.raises(LeaseLostError):
        runs.create(
            store,
            workstream=workstream,
            entry="codex",
            harness="codex",
            store_id=1,
            token=1,
            one_shot=False,
            cwd="/",
            worktree="/",
            argv=[],
            host_id="h",
            boot_id="b",
            pid_ns=0,
            pid=1,
            pid_start=1,
        )
    assert len(runs.unfinished(store, workstream)) == 1


def test_steps_are_stored_with_what_they_found_out(store: Store, workstream: Workstream) -> None:
    run = start_run(store, workstream)
    runs.advance(store, run, Step.RUNNING, child_pid=7, child_start=8, spawned_at=9)
    runs.advance(store, run.id, Step.ENDED, exit_code=130, signal=2, ended_at=10)
    now = runs.get(store, run.id)
    assert (now.step, now.child_pid, now.exit_code, now.signal) == (Step.ENDED, 7, 130, 2)
    with pytest.raises(ValueError, match="token"):
        runs.advance(store, run, Step.ENDED, token=5)
    with pytest.raises(UnavailableError):
        runs.advance(store, "run_none", Step.ENDED)


def test_a_closed_run_stays_as_it_is(store: Store, workstream: Workstream) -> None:
    run = start_run(store, workstream)
    runs.close(store, run, Outcome.LOST, '{"a":1}')
    runs.close(store, run, Outcome.ENDED)
    runs.advance(store, run, Step.IMPORTED)
    now = runs.get(store, run.id)
    assert (now.outcome, now.step, now.summary) == (Outcome.LOST, Step.CLOSED, '{"a":1}')
    assert now.closed_at == START
    assert runs.unfinished(store, workstream) == []


def test_the_next_holder_takes_a_dead_run_over(store: Store, workstream: Workstream) -> None:
    run = start_run(store, workstream)
    hold_lease(store, workstream, token=9)
    assert runs.adopt_token(store, run, 9).token == 9
    with pytest.raises(LeaseLostError):
        runs.adopt_token(store, run, 8)


def test_recent_entries_are_those_that_really_started(
    store: Store, workstream: Workstream, clock: SetClock
) -> None:
    for entry, spawned in (("codex", 1), ("claude", 1), ("codex", 1), ("never", None)):
        clock.now += 1
        run = start_run(store, workstream, entry=entry)
        runs.advance(store, run, Step.RUNNING, spawned_at=spawned)
    assert runs.recent_entries(store, workstream) == ["codex", "claude"]


def test_touched_sessions_keep_their_order_and_first_source(
    store: Store, workstream: Workstream
) -> None:
    run = start_run(store, workstream)
    first, second = link(store, workstream, "a"), link(store, workstream, "b", run=run.id)
    runs.touch_session(store, run, first, "clear")
    runs.touch_session(store, run, second, "resume")
    found = [(row.session, row.source) for row in runs.sessions_of(store, run)]
    assert found == [(second.id, "found"), (first.id, "clear")]
    runs.touch_session(store, run, first, "clear", ordinal=0)
    assert [row.session for row in runs.sessions_of(store, run)] == [first.id, second.id]
    live = runs.live_of_session(store, first)
    assert live is not None
    assert live.id == run.id
    runs.close(store, run, Outcome.ENDED)
    assert runs.live_of_session(store, first) is None


def test_a_session_that_was_merely_opened_has_no_events_of_the_run(
    store: Store, workstream: Workstream
) -> None:
    old, opened = link(store, workstream, "old"), link(store, workstream, "opened")
    apply(store, old, [event(0, name="before")])
    run = start_run(store, workstream)
    for session in (old, opened):
        runs.touch_session(store, run, session, "startup")
    loss = Loss(position="x@1", reason="torn_line", detail="")
    apply(store, opened, [loss, event(5, kind=Kind.COMPACTION)], run=run.id)
    assert runs.sessions_with_events(store, run) == set()
    apply(store, old, [event(1, name="during")], run=run.id)
    assert runs.sessions_with_events(store, run.id) == {old.id}


def test_history_that_a_resumed_session_had_before_does_not_count_as_activity(
    store: Store, workstream: Workstream, clock: SetClock
) -> None:
    clock.now += 1000
    run = start_run(store, workstream)
    picked = link(store, workstream, "picked")
    runs.touch_session(store, run, picked, "resume")
    apply(store, picked, [event(0)], run=run.id)
    assert runs.sessions_with_events(store, run) == set()
    apply(store, picked, [event(2000)], run=run.id)
    assert runs.sessions_with_events(store, run) == {picked.id}


def test_the_last_limit_of_a_run_is_known(store: Store, workstream: Workstream) -> None:
    run = start_run(store, workstream)
    session = link(store, workstream)
    assert limits.latest_of_run(store, run) is None
    apply(store, session, [Limit(at=5, message="first"), Limit(at=6, message="second")], run=run.id)
    apply(store, session, [Limit(at=9, message="outside", resets_at=99)])
    found, newest = limits.latest_of_run(store, run), limits.latest(store, workstream)
    assert found is not None
    assert newest is not None
    assert (found["message"], found["entry"], found["run"]) == ("second", "codex", run.id)
    assert (newest["message"], newest["resets_at"]) == ("outside", 99)
    assert sessions.get(store, session.id).native_id == "native-1"

"""The end of a run: import, verify, checkpoint, receipts, release. Recovery runs the same code.

Every step's state is in the database before the next one starts, and every step may be repeated:
whatever was interrupted, the next run begins here again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from importers import registry, service
from importers.base import Source, StoreState, StoreUnreadable
from importers.ignored import Ignored
from launcher import config, folder, receipts
from launcher.touched import Touched, link_touched, touched
from ledger import checkpoints, deliveries, git, limits, runs, sessions, workstreams
from ledger.fencing import LeaseLostError, require
from ledger.model import (
    BriefingRow,
    DeliveryRow,
    Origin,
    Outcome,
    RunRow,
    SessionRow,
    SessionState,
    Step,
    Workstream,
)
from ledger.ranges import count
from ledger.store import Store


@dataclass(slots=True, kw_only=True)
class Finished:
    """What a finish did, as the launcher and `recover` report it."""

    run: str
    outcome: Outcome
    sessions: list[str] = field(default_factory=list)
    imported: dict[str, int] = field(default_factory=dict)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    delivery: dict[str, Any] = field(default_factory=lambda: {"id": None, "state": "none"})
    limit: dict[str, Any] | None = None
    durations: dict[str, int] = field(default_factory=dict)
    interrupted: bool = False
    """Stopped at a batch boundary; the next run goes on with it."""

    def document(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {name: getattr(self, name) for name in self.__slots__}


def finish(
    store: Store, run: RunRow, *, recovery: bool, stop: Callable[[], bool] = lambda: False
) -> Finished:
    """Finish a run whose harness has ended; safe to call again after any interruption.

    `stop` is asked at batch boundaries. Links, deliveries, checkpoint and receipts move only under
    the run's own fencing token; with the lease lost, only the import lands and the outcome says so.
    """
    workstream = workstreams.get(store, run.workstream)
    done = Finished(run=run.id, outcome=Outcome.ABANDONED if recovery else Outcome.ENDED)
    with _timed(done, "import"):
        rows = _import(store, run, workstream, done, stop)
    if done.interrupted:
        return done
    try:
        _settle(store, run, workstream, rows, done, recovery=recovery)
    except LeaseLostError:
        done.outcome = Outcome.LOST
        done.notices.append(
            "another run took this workstream over meanwhile: what happened here was imported,"
            " but no link, delivery or handoff was moved"
        )
    _report_delivery(store, run, rows, done)
    done.imported = runs.imported(store, run)
    limit = limits.latest_of_run(store, run.id)
    done.limit = None if limit is None else dict(limit)
    runs.close(store, run, done.outcome, json.dumps(done.document(), ensure_ascii=False))
    if done.outcome is not Outcome.LOST:
        folder.remove(store.home, run.id)
    return done


# --- import -------------------------------------------------------------------------------------


def _import(
    store: Store,
    run: RunRow,
    workstream: Workstream,
    done: Finished,
    stop: Callable[[], bool],
) -> list[SessionRow]:
    importer = registry.get(run.harness)
    home = Path(sessions.store_home(store, run.store))
    events = folder.events(folder.path_of(store.home, run.id))
    try:
        opened = touched(store, run, importer, home, events)
    except StoreUnreadable as error:
        done.notices.append(f"the session store cannot be listed: {error}")
        opened = []
    rows: list[SessionRow] = []
    for ordinal, item in enumerate(opened):
        source = importer.locate(home, item.native_id)
        if source.state is StoreState.MISSING:
            _note_missing(store, run, home, item, source)
            continue
        row = _link(store, run, workstream, home, item, ordinal, done)
        if row is None:
            continue
        rows.append(row)
        done.sessions.append(row.native_id)
        _import_one(store, run, source, row, done)
        if stop():
            done.interrupted = True
            return rows
    _import_others(store, run, workstream, rows, done)
    runs.advance(store, run, Step.IMPORTED)
    for event in events:
        if event.delivery is not None and event.briefing is not None:
            receiver = sessions.by_native(store, run.harness, event.session, home=home)
            deliveries.record_printed(
                store,
                event.delivery,
                run.id,
                event.briefing,
                channel="hook",
                source=event.source,
                session=None if receiver is None else receiver.id,
                at=event.at,
                proof=event.proof,
            )
    return rows


def _import_one(store: Store, run: RunRow, source: Source, row: SessionRow, done: Finished) -> None:
    summary = service.import_session(
        store,
        registry.get(run.harness),
        source,
        row,
        run=run.id,
        origin=Origin.RUN,
        closed=True,
        ignored=_ignored(run)(),
    )
    done.annotations += [dict(a) for a in summary.annotations]
    done.notices += [f"{row.native_id}: {notice}" for notice in summary.notices]


def _ignored(run: RunRow) -> Callable[[], Ignored]:
    """Return the rules that hold in the run's work tree. Raises ConfigError."""
    patterns = config.load(os.environ, Path(run.worktree)).ignore
    return lambda: Ignored(patterns, run.worktree)


def _import_others(
    store: Store, run: RunRow, workstream: Workstream, rows: list[SessionRow], done: Finished
) -> None:
    """Read the tails of the other linked sessions: work done outside the wrapper meanwhile."""
    seen = {row.id for row in rows}
    for summary in service.import_linked(store, workstream, skip=seen, ignored=_ignored(run)):
        done.annotations += [dict(a) for a in summary.annotations]


def _link(
    store: Store,
    run: RunRow,
    workstream: Workstream,
    home: Path,
    item: Touched,
    ordinal: int,
    done: Finished,
) -> SessionRow | None:
    known = sessions.by_native(store, run.harness, item.native_id, home=home)
    if known is not None and known.workstream != run.workstream:
        other = workstreams.get(store, known.workstream)
        done.notices.append(
            f"session {item.native_id} belongs to workstream {other.name}: left there"
        )
        return None
    row = link_touched(store, run, workstream, home, item, known)
    runs.touch_session(store, run, row.id, item.source, ordinal=ordinal)
    return row


def _note_missing(store: Store, run: RunRow, home: Path, item: Touched, source: Source) -> None:
    known = sessions.by_native(store, run.harness, item.native_id, home=home)
    if known is not None and known.workstream == run.workstream:
        sessions.set_state(store, known, SessionState.MISSING, source.detail)


# --- what moves under the token -----------------------------------------------------------------


def _settle(
    store: Store,
    run: RunRow,
    workstream: Workstream,
    rows: list[SessionRow],
    done: Finished,
    *,
    recovery: bool,
) -> None:
    with store.transaction():
        require(store, run.workstream, run.token)
        active = runs.sessions_with_events(store, run)
        for row in rows:  # in the order of opening: the last one with a visible event stays
            if row.id in active and run.mode != "aside":
                sessions.set_current(
                    store,
                    run.token,
                    workstream,
                    row,
                    entry=run.entry,
                    one_shot=run.one_shot,
                    run=run.id,
                )
        deliveries.settle(store, run)
        runs.advance(store, run, Step.VERIFIED)
    with _timed(done, "checkpoint"):
        state = git.state(Path(run.worktree))
    partial = "tree observed at recovery, not at the end" if recovery else None
    with store.transaction():
        require(store, run.workstream, run.token)
        last = next((row.id for row in reversed(rows) if row.id in active), None)
        checkpoints.record(
            store,
            workstream,
            state,
            run=run.id if active else None,  # a run without an event adds none by an unchanged tree
            session=last,
            worktree=run.worktree,
            partial=partial,
        )
        runs.advance(store, run, Step.CHECKPOINTED)
        done.notices += receipts.apply(store, run, workstream)
        runs.advance(store, run, Step.RECEIPTS)
    with _timed(done, "draft"):
        opened = [row.id for row in rows]
        _hand_off(store, run, workstream, state, active, opened, done, recovery=recovery)


def _hand_off(
    store: Store,
    run: RunRow,
    workstream: Workstream,
    state: git.GitState,
    active: set[int],
    opened: Sequence[int],
    done: Finished,
    *,
    recovery: bool,
) -> None:
    """Settle the handoffs. A failure is told and costs the handoff, never the end of the run."""
    from launcher.handing import settling

    try:
        done.notices += settling.settle(store, run, workstream, state, active, recovery=recovery)
    except LeaseLostError:
        raise
    except Exception as error:
        done.notices.append(f"no handoff was drafted: {type(error).__name__}: {error}")
        return
    done.notices += _by_policy(store, run, workstream, opened)
    with store.transaction():
        require(store, run.workstream, run.token)
        runs.advance(store, run, Step.DRAFTED)


def _by_policy(
    store: Store, run: RunRow, workstream: Workstream, opened: Sequence[int]
) -> list[str]:
    """Do what the rollover policy says. A failure is told and costs nothing else."""
    from launcher import rollover

    try:
        configured = config.load(os.environ, Path(run.worktree))
        return rollover.settle(store, run, workstream, configured, opened)
    except LeaseLostError:
        raise
    except Exception as error:
        return [f"the rollover policy was not applied: {type(error).__name__}: {error}"]


def _report_delivery(
    store: Store, run: RunRow, touched_rows: Sequence[SessionRow], done: Finished
) -> None:
    """Report the delivery that matters: a seen one, else the first printed, else none."""
    rows = deliveries.of_run(store, run.id)
    briefed = deliveries.briefings_of_run(store, run.id)
    if not rows:
        if _was_due(store, run, touched_rows, briefed):
            done.delivery = {
                "id": None,
                "state": "failed",
                "reason": "the briefing was not printed to any session",
                "bytes": 0,
                "included": 0,
                "omitted": 0,
            }
        return
    chosen = next((row for row in rows if row.state in ("seen", "acknowledged")), rows[0])
    done.delivery = delivery_document(chosen, {b.id: b for b in briefed})


def _was_due(
    store: Store,
    run: RunRow,
    touched_rows: Sequence[SessionRow],
    briefed: Sequence[BriefingRow],
) -> bool:
    """Return whether a session that the run opened, or was to open, had a briefing due.

    Briefings for sessions that stayed closed, and the one for a new session when none was made,
    are composed ahead and mean nothing.
    """
    own = {b.session for b in briefed if b.purpose == "session"}
    fresh = any(b.purpose == "new" for b in briefed)
    asked = None
    if run.native_id is not None:
        home = Path(sessions.store_home(store, run.store))
        asked = sessions.by_native(store, run.harness, run.native_id, home=home)
    opened = list(touched_rows)
    if run.mode == "fork" and asked is not None:
        opened[:1] = [asked]  # a fork is told what is new to its parent
    if not opened and asked is not None:
        opened = [asked]
    if not opened:
        return fresh
    return any(row.id in own or (fresh and row.linked_at >= run.started_at) for row in opened)


def delivery_document(row: DeliveryRow, briefed: Mapping[int, Any]) -> dict[str, Any]:
    """Return a delivery as reports and `status` show it; counts are events."""
    briefing = briefed.get(row.briefing)
    return {
        "id": row.id,
        "state": str(row.state),
        "reason": row.reason,
        "told": row.answer is not None,
        "bytes": 0 if briefing is None else briefing.bytes,
        "included": 0 if briefing is None else count(briefing.included),
        "omitted": 0 if briefing is None else count(briefing.omitted),
    }


class _timed:  # noqa: N801  (reads as a statement)
    """Record the length of a block in milliseconds."""

    def __init__(self, done: Finished, name: str) -> None:
        self._done, self._name = done, name
        self._start = 0

    def __enter__(self) -> None:
        self._start = time.monotonic_ns()

    def __exit__(self, *_: object) -> None:
        self._done.durations[self._name] = (time.monotonic_ns() - self._start) // 1_000_000

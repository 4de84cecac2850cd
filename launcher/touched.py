"""Which native sessions a run touched, and in what order.

The hook's event file is the proof. Where no hook spoke (switched off, an old version, a stand-in),
the store is asked: the session that was requested, and the sessions whose files changed since the
start and that were recorded in this work tree. A session of somebody else is never taken.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from importers.base import Importer, Source, StoreState, StoreUnreadable
from launcher import folder
from launcher.folder import HookEvent
from ledger import sessions, workstreams
from ledger.model import Origin, RunRow, SessionRow, Workstream
from ledger.store import Store

MAX_CHANGED = 200
"""Changed files looked into when no hook spoke; newest first."""


class Touched(NamedTuple):
    """A native session that a run opened."""

    native_id: str
    source: str
    """startup, resume, clear, fork, compact as the hook said; requested or found without it."""
    path: Path | None = None
    """Transcript named by the hook."""


def touched(
    store: Store, run: RunRow, importer: Importer, home: Path, events: Sequence[HookEvent]
) -> list[Touched]:
    """Return the sessions of a run in the order in which it opened them; the last is the latest.

    Raises StoreUnreadable when the store has to be listed and cannot be.
    """
    order: dict[str, Touched] = {}
    for event in events:
        if event.event != "SessionStart":
            continue
        known = order.pop(event.session, None)  # a session opened again is the latest again
        order[event.session] = Touched(
            native_id=event.session,
            source=known.source if known is not None else event.source or "startup",
            path=None if event.transcript is None else Path(event.transcript),
        )
    if order:
        return list(order.values())
    if run.native_id is not None:
        order[run.native_id] = Touched(native_id=run.native_id, source="requested")
    others = _sessions_of_other_runs(store, run)
    for source in _changed_since(store, run, importer, home, skip={*order, *others}):
        order[source.native_id] = Touched(native_id=source.native_id, source="found")
    return list(order.values())


def _sessions_of_other_runs(store: Store, run: RunRow) -> set[str]:
    """Return what the hooks of runs that are not finished have told: those sessions are theirs."""
    try:
        names = [path.name for path in (store.home / folder.RUNS).iterdir()]
    except OSError:
        return set()
    others = [folder.path_of(store.home, name) for name in names if name != run.id]
    return {event.session for other in others for event in folder.events(other)}


def _changed_since(
    store: Store, run: RunRow, importer: Importer, home: Path, skip: set[str]
) -> list[Source]:
    start = run.spawned_at or run.started_at
    changed: list[tuple[int, Source]] = []
    for source in importer.discover(home):
        if source.state is StoreState.UNREADABLE or source.native_id in skip:
            continue
        newest = source.changed_at
        if newest is None:
            newest = max((_mtime_ms(path) for path in source.paths), default=0)
        if newest >= start:
            changed.append((newest, source))
    changed.sort(key=lambda pair: pair[0], reverse=True)
    mine = [
        (newest, source)
        for newest, source in changed[:MAX_CHANGED]
        if _belongs(store, run, importer, home, source)
    ]
    return [source for _, source in sorted(mine, key=lambda pair: pair[0])]


def _belongs(store: Store, run: RunRow, importer: Importer, home: Path, source: Source) -> bool:
    linked = sessions.by_native(store, importer.name, source.native_id, home=home)
    if linked is not None:
        return linked.workstream == run.workstream
    try:
        facts = importer.describe(source)
    except StoreUnreadable:
        return False
    if facts.subagent_of is not None:
        return False
    return any(inside(cwd, run.worktree) for cwd in (facts.cwd, facts.first_cwd) if cwd)


def link_touched(
    store: Store,
    run: RunRow,
    workstream: Workstream,
    home: Path,
    item: Touched,
    known: SessionRow | None,
) -> SessionRow:
    """Link a session that a run opened to the run's workstream, and return its row.

    `known` is its row when it is linked already. A session born by /clear counts as having seen
    everything up to now: the person asked for an empty context.
    """
    born_through = None
    if known is None and item.source == "clear":
        born_through = workstreams.get(store, workstream.id).head_seq
    return sessions.link_session(
        store,
        workstream,
        harness=run.harness,
        entry=run.entry,
        home=home,
        native_id=item.native_id,
        one_shot=run.one_shot if known is None else known.one_shot,
        origin=Origin.RUN,
        deliver=True,
        born=item.source if known is None else known.born,
        born_through=born_through,
    )


def inside(directory: str, tree: str) -> bool:
    """Return whether a recorded directory lies in a work tree, both by realpath."""
    real, top = os.path.realpath(directory), os.path.realpath(tree)
    return real == top or real.startswith(top.rstrip("/") + "/")


def _mtime_ms(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0

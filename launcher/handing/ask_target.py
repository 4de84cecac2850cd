"""Which session is asked for a handoff, and whether it can be asked right now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from importers import registry as importers
from importers.base import StoreState, StoreUnreadable
from launcher import executables, launching
from launcher.asking import Asked
from launcher.handing.bench import Bench
from launcher.harnesses import registry
from launcher.harnesses.base import Program, Readiness
from launcher.options import RunOptions
from leases import lease as leases
from ledger import runs, sessions
from ledger.errors import BusyError, UnavailableError
from ledger.model import SessionRow

_OF_A_RUN: Final = ("WORKSTREAM_ID", "WORKSTREAM_NAME", "WORKSTREAM_RUN_ID")
"""With these, our own command would take the fork for the run that it was started inside of."""


class Linked(NamedTuple):
    """The session of a harness entry that is asked, and what it is asked with."""

    session: SessionRow
    program: Program
    env: Mapping[str, str]
    """The child's environment before the adapter's changes."""
    home: Path
    """Store home."""


class Target(NamedTuple):
    """A session that can be asked."""

    cwd: Path
    path: Path | None
    """The session's file."""


def linked(bench: Bench, asked: Asked) -> Linked:
    """Return the session that worked last. Raises NotFoundError and its kin, UnavailableError."""
    entry, adapter = asked.entry, asked.adapter
    env = launching.child_environment(bench.place, entry, RunOptions(), adapter)
    home = importers.get(adapter.name).home(env)
    session = _current(bench, entry.name, home)
    if session is None:
        raise UnavailableError(
            f"no session of {entry.name} is linked to {bench.workstream.name}",
            next_step=f"Work with it first: workstream run {entry.name}",
        )
    path = executables.find(adapter, entry, env, None)
    program = executables.inspect(adapter, path, env, bench.store.home / "programs.json")
    foreign = {*_OF_A_RUN, *registry.parent_variables()} - entry.env.keys()
    own = {name: value for name, value in env.items() if name not in foreign}
    return Linked(session, program, own, home)


def ready(bench: Bench, asked: Asked, chosen: Linked) -> Target:
    """Return where it is asked. Raises BusyError while it is at work, UnavailableError."""
    session = chosen.session
    _refuse_busy(bench, session)
    path = _located(session, chosen.home)
    cwd = _directory(session, bench.place.cwd)
    found = asked.adapter.preflight(
        chosen.home, session.native_id, path, cwd, args=asked.entry.args
    )
    if found.readiness is not Readiness.READY:
        kind = BusyError if found.readiness is Readiness.BUSY else UnavailableError
        raise kind(
            f"session {session.native_id} cannot be asked",
            detail=found.detail or str(found.readiness),
        )
    return Target(cwd, path)


def _current(bench: Bench, entry: str, home: Path) -> SessionRow | None:
    """Return the session that worked last: of the current ones, else of all that are linked."""
    store, workstream = bench.store, bench.workstream
    forms = (sessions.current(store, workstream, entry, home, form) for form in (False, True))
    found = [row for row in forms if row is not None]
    if not found:
        real = str(home.resolve())
        found = [
            row
            for row in sessions.of_workstream(store, workstream)
            if row.entry == entry and row.home == real and row.deliver
        ]
    return max(found, key=lambda row: row.last_at or row.linked_at, default=None)


def _refuse_busy(bench: Bench, session: SessionRow) -> None:
    """Raise BusyError while a run has the session: its turn may be half done."""
    view = leases.inspect(bench.store, bench.workstream.id)
    verdict = leases.verdict_on(bench.store, view)
    if view is None or view.holder is None or (verdict.takeable and not verdict.child_may_live):
        return
    run = runs.find(bench.store, view.holder.run)
    if run is None:
        return
    touched = {item.session for item in runs.sessions_of(bench.store, run)}
    if session.id in touched or run.native_id == session.native_id:
        raise BusyError(
            f"session {session.native_id} is at work in a run of {run.entry}",
            next_step="Ask when it has ended, or have it call: workstream handoff prepare",
        )


def _located(session: SessionRow, home: Path) -> Path | None:
    """Return the session's file. Raises UnavailableError when it is gone or cannot be read."""
    try:
        source = importers.get(session.harness).locate(home, session.native_id)
    except StoreUnreadable as error:
        raise UnavailableError(
            f"session {session.native_id} cannot be read", detail=str(error)
        ) from error
    if source.state is not StoreState.PRESENT:
        raise UnavailableError(
            f"session {session.native_id} is {source.state} in its store", detail=source.detail
        )
    return source.path


def _directory(session: SessionRow, cwd: Path) -> Path:
    """Return where the session worked last; where we are, when that is gone."""
    worked = None if session.cwd is None else Path(session.cwd)
    return worked if worked is not None and worked.is_dir() else cwd

"""Create or resume: which native session a run is about, decided before anything is started.

An explicit selector of the person's always wins. A linked session is looked for in its native
store first: present and free, it is resumed; definitely gone, a new one is created and relinked,
saying so; unreadable, locked or open elsewhere, the holder is named and nothing is guessed.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from handoffs.policy import Thresholds
from importers.base import Importer, Source, StoreState, StoreUnreadable
from launcher import pressure
from launcher.harnesses.base import Adapter, Invocation, Readiness, Select
from launcher.options import RunOptions
from launcher.resolve import Choice
from ledger import sessions
from ledger.errors import BusyError, UnavailableError, UsageError
from ledger.model import SessionRow, SessionState
from ledger.store import Store


class Target(NamedTuple):
    """The native session of a run."""

    mode: str
    """create, resume, fork, or native: the person's own selector decides; aside: a new session
    that nothing goes on with, such as a review."""
    resume: str | None = None
    """Native id that we ask the harness to resume; None: nothing of ours in argv."""
    path: Path | None = None
    cwd: str | None = None
    """Directory the session was last used in."""
    session: SessionRow | None = None
    """Its row, when it is linked."""
    notices: tuple[str, ...] = ()
    worn: str | None = None
    """Why the session is better not resumed once more."""


class Request(NamedTuple):
    """What a target is decided from."""

    store: Store
    choice: Choice
    entry: str
    adapter: Adapter
    importer: Importer
    home: Path
    invocation: Invocation
    options: RunOptions
    cwd: Path
    entry_args: tuple[str, ...] = ()
    """Default arguments of the harness entry."""
    old_child_may_live: bool = False
    """The lease was taken from a run whose harness may still be writing its session."""
    full: Thresholds = Thresholds()
    """From where on a session counts as full."""


def decide(request: Request, *, one_shot: bool) -> Target:
    """Return the target of a run. Links a session that the person named or adopts.

    Raises BusyError (75), UnavailableError (69), UsageError (64).
    """
    select = request.invocation.select
    if request.options.adopt is not None:
        if select is not Select.NONE:
            raise UsageError("--adopt and a session named in the harness's own arguments")
        return _adopt(request, request.options.adopt, one_shot=one_shot)
    if select is not Select.NONE:
        if request.options.rollover:
            raise UsageError("--rollover and a session named in the harness's own arguments")
        return _selected(request, one_shot=one_shot)
    if request.options.fresh or request.options.rollover:
        return Target(mode="create")
    current = sessions.current(
        request.store, request.choice.workstream, request.entry, request.home, one_shot
    )
    if current is None:
        return Target(mode="create")
    if request.old_child_may_live:
        text = "the run before may still be writing its session; a new one is created"
        return Target(mode="create", notices=(text,))
    return _linked(request, current)


def _linked(request: Request, current: SessionRow) -> Target:
    title = request.adapter.title
    short = current.native_id
    source = request.importer.locate(request.home, current.native_id)
    if source.state is StoreState.MISSING:
        sessions.set_state(request.store, current, SessionState.MISSING, source.detail)
        text = f"{title} session {short} is gone from its store; a new one is created"
        return Target(mode="create", notices=(text,))
    if source.state is StoreState.UNREADABLE:
        raise UnavailableError(
            f"{title} session {short} cannot be read",
            detail=source.detail,
            next_step="Mend the store, or start a new session: workstream run --fresh "
            + request.entry,
        )
    answer = request.adapter.preflight(
        request.home,
        current.native_id,
        source.path,
        request.cwd,
        args=(*request.entry_args, *request.invocation.args),
    )
    if answer.readiness is Readiness.READY:
        worn = None
        if request.options.rollover is None:
            worn = pressure.worn_out(request.store, current, request.full)
        return Target(
            mode="resume",
            resume=current.native_id,
            path=source.path,
            cwd=current.cwd,
            session=current,
            worn=worn,
        )
    if answer.readiness in (Readiness.BUSY, Readiness.UNREADABLE):
        kind = BusyError if answer.readiness is Readiness.BUSY else UnavailableError
        raise kind(
            f"{title} session {short} cannot be resumed now",
            detail=answer.detail,
            next_step="Close it there, or start a new session: workstream run --fresh "
            + request.entry,
        )
    why = answer.detail or str(answer.readiness)
    return Target(
        mode="create", notices=(f"{title} session {short} is not resumed: {why}; a new one starts",)
    )


def _selected(request: Request, *, one_shot: bool) -> Target:
    """Honour the person's own selector, and know the session it names when it names one."""
    invocation = request.invocation
    mode = {Select.RESUME: "resume", Select.FORK: "fork"}.get(invocation.select, "native")
    if invocation.select is Select.CREATE and invocation.native_id is None:
        mode = "aside"
    if invocation.select is Select.DETACHED:
        text = "this session leaves no trace in the harness's store: nothing of it will be imported"
        return Target(mode=mode, notices=(text,))
    goes_on = invocation.select in (Select.RESUME, Select.NAMED)
    if invocation.native_id is None or not goes_on:
        return Target(mode=mode)
    source = request.importer.locate(request.home, invocation.native_id)
    if source.state not in (StoreState.PRESENT, StoreState.ARCHIVED):
        return Target(mode=mode)  # created, or the harness itself will say what is wrong with it
    row = _link(request, source, one_shot=one_shot)
    return Target(mode="resume", path=source.path, cwd=row.cwd, session=row)


def _adopt(request: Request, native_id: str, *, one_shot: bool) -> Target:
    source = request.importer.locate(request.home, native_id)
    if source.state not in (StoreState.PRESENT, StoreState.ARCHIVED):
        raise UnavailableError(
            f"there is no {request.adapter.title} session {native_id}",
            detail=source.detail or f"looked in {request.home}",
            next_step="List those of this repository: workstream import --list "
            + request.adapter.name,
        )
    try:
        facts = request.importer.describe(source)
    except StoreUnreadable as error:
        raise UnavailableError(
            f"{request.adapter.title} session {native_id} cannot be read", detail=str(error)
        ) from error
    if facts.subagent_of is not None:
        raise UsageError(
            f"{native_id} is a subagent's session",
            next_step=f"Adopt its parent: {facts.subagent_of}",
        )
    return _linked(request, _link(request, source, one_shot=one_shot))


def _link(request: Request, source: Source, *, one_shot: bool) -> SessionRow:
    return sessions.link_session(
        request.store,
        request.choice.workstream,
        harness=request.importer.name,
        entry=request.entry,
        home=request.home,
        native_id=source.native_id,
        one_shot=one_shot,
        origin="outside",
        deliver=True,
        adopt=request.options.adopt is not None,
    )

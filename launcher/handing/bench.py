"""What every handoff verb needs: ledger, workstream, the run it is called in, who calls, findings.

Inside a harness whose sandbox forbids writing, what should be recorded is printed as a receipt
line, which the end of the run applies.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from handoffs.errors import HeadConflictError, RefusedError
from handoffs.models import ActorKind, Author, Finding, HostObservation
from handoffs.store import observing
from launcher import catchup, receipts
from launcher.output import emit_json, error_entry, print_error, say
from launcher.place import Place, here
from launcher.reading import Reading, inside_harness
from launcher.resolve import choose
from leases import lease as leases
from leases.errors import LeaseHeld
from leases.holder import Holder, holder_here
from ledger import host, ids, runs, sessions, workstreams
from ledger.errors import (
    BadDataError,
    BusyError,
    StateError,
    StateNewerError,
    UnavailableError,
)
from ledger.fencing import LeaseLostError
from ledger.model import RunRow, SessionRow, Step, Workstream
from ledger.store import Store, open_store
from ledger.visible import show

MAX_INPUT = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """An open ledger and everything a verb asks about its caller."""

    store: Store
    place: Place
    workstream: Workstream
    run: RunRow | None
    """The live run this was called inside of."""

    @property
    def worktree(self) -> Path:
        """The work tree this was called in."""
        return Path(self.place.checkout.keys.worktree)

    @property
    def session(self) -> SessionRow | None:
        """The native session of that run which was touched last."""
        if self.run is None:
            return None
        touched = runs.sessions_of(self.store, self.run)
        return sessions.get(self.store, touched[-1].session) if touched else None

    @property
    def author(self) -> Author:
        """Who calls: the agent of the run, or the person."""
        owner = host.user_name()
        if self.run is None:
            return Author(kind=ActorKind.HUMAN, owner=owner)
        session = self.session
        return Author(
            kind=ActorKind.AGENT,
            harness=self.run.entry,
            session=None if session is None else session.native_id,
            owner=owner,
        )

    @property
    def observations(self) -> tuple[HostObservation, ...]:
        """What the harness recorded of that session's context; outside a run, of the last one's."""
        session = self.session
        if session is not None:
            return observing.of_sessions(self.store, [session.id])
        return () if self.run is not None else observing.of_last_used(self.store, self.workstream)

    @property
    def token(self) -> int | None:
        """The fencing token of the run this was called inside of."""
        return None if self.run is None else self.run.token

    @property
    def holder(self) -> Holder:
        """This process, for a short lease of its own."""
        return holder_here(
            self.store, run=ids.random_id("hand_"), env=self.place.env, purpose="handoff"
        )


@contextlib.contextmanager
def writing(name: str | None, *, refresh: bool = False) -> Iterator[Bench]:
    """Open the ledger for a verb that writes; `refresh` imports complete records first.

    Raises StateError, BusyError and UnavailableError.
    """
    place = here()
    with open_store(place.home, "rw", busy_ms=10_000) as store:
        store.require_writable()
        run = live_run(store)
        workstream = _workstream(store, place, name, run)
        if refresh:
            catchup.refresh(store, workstream, place)
            workstream = workstreams.get(store, workstream.id)
            run = None if run is None else runs.get(store, run.id)
        yield Bench(store=store, place=place, workstream=workstream, run=run)


def of_reading(now: Reading) -> Bench:
    """Return the bench of a verb that only reads."""
    return Bench(
        store=now.store,
        place=now.place,
        workstream=now.choice.workstream,
        run=live_run(now.store),
    )


def _workstream(store: Store, place: Place, name: str | None, run: RunRow | None) -> Workstream:
    if name is None and run is not None:
        return workstreams.get(store, run.workstream)
    return choose(store, place, name=name).workstream


def live_run(store: Store) -> RunRow | None:
    """Return the run this process was started inside of, while it holds its lease; else None."""
    name = os.environ.get("WORKSTREAM_RUN_ID", "").strip()
    run = runs.find(store, name) if name else None
    if run is None or run.step is Step.CLOSED:
        return None
    view = leases.inspect(store, run.workstream)
    if view is None or view.holder is None or view.holder.run != run.id:
        return None
    return run


def our_command() -> str:
    """Return how the caller calls us once more: a harness's shell may not find the plain name."""
    if not inside_harness():
        return "workstream"
    from launcher import launching

    return launching.our_command()


# --- receipts -------------------------------------------------------------------------------------


def or_receipt(
    work: Callable[[], int],
    payload: Callable[[], Mapping[str, Any]],
    workstream: str | None,
    *,
    examine: Callable[[Bench], None] = lambda _: None,
) -> int:
    """Do the work; where the ledger cannot be written from inside a run, print its receipt line.

    A receipt is about the run's own workstream: for another one the error stays the answer.
    `examine` raises what is wrong already, by what can be read: once the run has ended, nobody is
    there to mend it.
    """
    try:
        return work()
    except (StateError, BusyError) as error:
        told = isinstance(error, (StateNewerError, HeadConflictError, LeaseHeld, LeaseLostError))
        if told or not inside_harness():
            raise
        place = here()
        with open_store(place.home, "ro") as store:
            run = live_run(store)
            own = None if run is None else workstreams.get(store, run.workstream)
            if run is None or own is None or workstream not in (None, own.name):
                raise
            examine(Bench(store=store, place=place, workstream=own, run=run))
        click.echo(receipts.line(run.nonce, payload()))
        click.echo("recorded when this run ends")
        return 0


# --- findings -------------------------------------------------------------------------------------


def answering(work: Callable[[], int], *, as_json: bool) -> int:
    """Do the work and tell refusals with all their findings; returns the exit code."""
    try:
        return work()
    except RefusedError as error:
        if as_json:
            emit_json("handoff", None, [finding_entry(item) for item in error.findings])
        else:
            print_error(BadDataError(error.message, next_step=error.next_step))
            tell_findings(error.findings)
        return error.exit_code
    except HeadConflictError as error:
        if as_json:
            emit_json("handoff", None, [{**error_entry(error), "facts": error.facts}])
        else:
            print_error(error)
        return error.exit_code


def finding_entry(item: Finding) -> dict[str, Any]:
    """Return a finding as an entry of the envelope's error list."""
    return {"message": item.detail, **item.value()}


def tell_findings(findings: Sequence[Finding]) -> None:
    """Print findings for a person on stderr."""
    for item in findings:
        where = item.field or "handoff"
        say(f"  {item.severity} {item.code} in {where}: {item.detail}. {item.fix}")


# --- input ----------------------------------------------------------------------------------------


def given(path: str | None) -> str:
    """Return the text of a file, or of stdin for `-` and None.

    Raises BadDataError and UnavailableError.
    """
    try:
        if path in (None, "-"):
            raw = sys.stdin.buffer.read(MAX_INPUT + 1)
        else:
            with Path(str(path)).open("rb") as file:
                raw = file.read(MAX_INPUT + 1)
    except OSError as error:
        raise UnavailableError(f"cannot read {path}", detail=error.strerror) from error
    if len(raw) > MAX_INPUT:
        raise BadDataError(f"that is longer than {MAX_INPUT // 1024} KiB")
    return raw.decode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """Return foreign text for a terminal."""
    return show(text)

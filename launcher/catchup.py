"""What happened while no run of ours was looking: cut-off runs, tails, sessions of others."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from importers import registry
from importers.base import Importer, Source, StoreState, StoreUnreadable
from launcher import folder
from launcher.output import ago, plural, say
from launcher.place import Place
from launcher.touched import Touched, inside, link_touched
from leases import lease as leases
from ledger import runs, sessions
from ledger.model import RunRow, Step, Workstream
from ledger.store import Store

OFFERED = 5
LOOKED_AT = 200
"""Newest sessions whose heads are read when looking for ones to adopt."""


def finish_unfinished(
    store: Store, workstream: Workstream, held: leases.Lease, *, quiet: bool
) -> int:
    """Finish runs of this workstream that did not end by themselves, under our token.

    Returns how many there were.
    """
    pending = runs.unfinished(store, workstream)
    for run in pending:
        from launcher.finish import finish

        if run.step in (Step.PLANNED, Step.BRIEFED, Step.SPAWNING) and run.child_pid is None:
            from ledger.model import Outcome

            runs.close(store, run, Outcome.SPAWN_FAILED, None)
            folder.remove(store.home, run.id)
            continue
        done = finish(store, runs.adopt_token(store, run, held.token), recovery=True)
        if not quiet:
            events = plural(sum(done.imported.values()), "event")
            say(f"finished the run of {run.entry} that was cut off: {events} imported")
            for notice in done.notices:
                say(notice)
    return len(pending)


def catch_up(
    store: Store, workstream: Workstream, place: Place, *, say_losses: bool
) -> dict[str, int]:
    """Import the tails of all linked sessions; returns counts by kind."""
    counts: dict[str, int] = {}
    if not _stale(store, workstream):
        return counts
    from importers import service  # with the reader and the index: only when there is news

    for summary in service.import_linked(store, workstream, ignored=place.ignored):
        for kind, count in summary.imported.items():
            counts[kind] = counts.get(kind, 0) + count
        if say_losses:
            for notice in summary.notices:
                say(notice)
    return counts


def _stale(store: Store, workstream: Workstream, live: Collection[str] = ()) -> bool:
    """Return whether any linked session has to be looked into, by its files' signatures."""
    for row in sessions.of_workstream(store, workstream):
        try:
            source = registry.get(row.harness).locate(Path(row.home), row.native_id)
        except StoreUnreadable:
            return True
        closed = row.native_id not in live
        if not sessions.is_imported(store, row, source.signature, closed=closed):
            return True
        if (str(source.state), source.detail) != (str(row.state), row.state_detail):
            return True
    return False


def refresh(store: Store, workstream: Workstream, place: Place) -> list[str]:
    """Before a reading command: import complete records of all linked sessions and of a live run.

    Needs no lease. Returns the native ids of sessions that a live run is writing now.
    """
    live = _live_sessions(store, workstream)
    if not _stale(store, workstream, frozenset(live)):
        return live
    from importers import service

    for summary in service.import_linked(
        store, workstream, open_sessions=frozenset(live), ignored=place.ignored
    ):
        for notice in summary.notices:
            say(notice)
    return live


def _live_sessions(store: Store, workstream: Workstream) -> list[str]:
    view = leases.inspect(store, workstream.id)
    if view is None or view.holder is None or view.child_pid is None:
        return []
    run = runs.find(store, view.holder.run)
    if run is None:
        return []
    importer = registry.get(run.harness)
    home = Path(sessions.store_home(store, run.store))
    found: list[str] = []
    for native_id, how in _opened(store, run):
        if native_id in found:
            continue
        source = importer.locate(home, native_id)
        known = sessions.by_native(store, run.harness, native_id, home=home)
        if source.state is not StoreState.PRESENT:
            continue
        if known is not None and known.workstream != workstream.id:
            continue
        if known is None:
            item = Touched(native_id=native_id, source=how)
            known = link_touched(store, run, workstream, home, item, None)
        runs.touch_session(store, run, known.id, how)
        found.append(native_id)
    return found


def _opened(store: Store, run: RunRow) -> list[tuple[str, str]]:
    """Return the sessions that a live run has open: as its hook told, else the one asked for."""
    events = folder.events(folder.path_of(store.home, run.id))
    told = [(e.session, e.source or "startup") for e in events if e.event == "SessionStart"]
    if told or run.native_id is None:
        return told
    return [(run.native_id, "requested")]


class Candidate(NamedTuple):
    """A session that began without us, offered for adoption."""

    native_id: str
    line: str


def adoptable(store: Store, importer: Importer, home: Path, place: Place) -> list[Candidate]:
    """Return the newest sessions of this work tree that no workstream has, at most five."""
    found: list[Candidate] = []
    for source in itertools.islice(_readable(importer, home), LOOKED_AT):
        if sessions.by_native(store, importer.name, source.native_id, home=home) is not None:
            continue
        candidate = _candidate(store, importer, source, place)
        if candidate is not None:
            found.append(candidate)
        if len(found) == OFFERED:
            break
    return found


def _readable(importer: Importer, home: Path) -> Iterable[Source]:
    return (s for s in importer.discover(home) if s.state is StoreState.PRESENT)


def _candidate(store: Store, importer: Importer, source: Source, place: Place) -> Candidate | None:
    try:
        facts = importer.describe(source)
    except StoreUnreadable:
        return None
    directory = facts.cwd or facts.first_cwd
    if facts.subagent_of is not None or directory is None:
        return None
    if not inside(directory, place.checkout.keys.worktree):
        return None
    when = ago(facts.last_at or facts.started_at, store.clock.now_ms())
    what = facts.title or _first_words(importer, source)
    return Candidate(
        native_id=source.native_id, line=f"{when:>12}  {source.native_id}  {what[:60]}"
    )


def _first_words(importer: Importer, source: Source) -> str:
    """Return the first thing the person said in a session; reads no more than its beginning."""
    from importers.base import Event, Kind, Limits
    from importers.forgetful import ForgetfulNodes

    batches = importer.read(
        source, None, ForgetfulNodes(), Limits(batch_items=50, batch_bytes=256 * 1024), closed=False
    )
    try:
        first = next(batches, None)
    except StoreUnreadable:
        return "cannot be read"
    items = () if first is None else first.items
    said = (i.text for i in items if isinstance(i, Event) and i.kind is Kind.USER_MESSAGE)
    return " ".join(next(said, "no words yet").split())

"""From a native session into the ledger: reading, sorting, committing, and saying what happened.

The invariant this module protects: whatever was not taken in is said. A store that cannot be read
gives a notice and never an empty result; an unknown version, unknown record kinds, or a session
without a single assistant event are reported.

Imports need no lease. Two of one session at once cannot double or lose anything: the one whose
cursor moved under it throws its batch away and reads on from the stored cursor.
"""

from __future__ import annotations

import contextlib
import gc
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from importers import registry
from importers.base import (
    AgentCheck,
    Batch,
    Event,
    FileFact,
    Importer,
    Kind,
    LeftOut,
    Limit,
    Limits,
    Loss,
    Mark,
    Node,
    Plan,
    Receipt,
    SessionFacts,
    Sighting,
    Source,
    StoreState,
    StoreUnreadable,
    Turn,
    Usage,
)
from importers.ignored import NOTHING, Ignored
from ledger import deliveries, host, ingest, runs, sessions
from ledger.errors import BusyError
from ledger.incoming import Additions, Annotated, Applied, Context, CursorStep, Placed
from ledger.model import Origin, SessionRow, SessionState, Workstream
from ledger.nodes import SessionNodes
from ledger.store import Store

MAX_TURNS: Final = 1000
"""Times that another import may move the cursor under one of ours before it gives up."""
UNKNOWN: Final = "unknown:"
"""Prefix of left-out kinds that a reader does not know."""


@dataclass(slots=True, kw_only=True)
class ImportSummary:
    """What an import did; counts are of what is new."""

    harness: str
    native_id: str
    session: int
    """Row id of the session."""
    imported: dict[str, int] = field(default_factory=dict)
    """Events by kind, annotations aside."""
    known: int = 0
    """Events that were read and were there already."""
    annotations: list[Mapping[str, Any]] = field(default_factory=list)
    """{"session", "reason", "position", "detail"} of each new one."""
    left_out: dict[str, int] = field(default_factory=dict)
    redactions: dict[str, int] = field(default_factory=dict)
    sightings: int = 0
    receipts: int = 0
    bytes: int = 0
    """Source bytes read."""
    unchanged: bool = False
    """Nothing was read: the files are as they were after the last import."""
    readable: bool = True
    notices: list[str] = field(default_factory=list)
    """Sentences for the person."""

    @property
    def events(self) -> int:
        """Number of new events."""
        return sum(self.imported.values())


Progress = Callable[[int, int], None]
"""Called after each batch with (bytes read, new events) of that batch."""


def default_context(store: Store) -> Context:
    """Return who and where we are, for events whose source does not say more."""
    return Context(owner=host.user_name(), host=store.host_id)


def import_session(
    store: Store,
    importer: Importer,
    source: Source,
    session: SessionRow,
    *,
    run: str | None = None,
    origin: Origin = Origin.OUTSIDE,
    closed: bool,
    context: Context | None = None,
    progress: Progress | None = None,
    limits: Limits | None = None,
    ignored: Ignored = NOTHING,
) -> ImportSummary:
    """Read what is new in a session and store it; returns what happened.

    Does nothing when the files are unchanged since the last complete import (and that one was as
    closed as this). A store that cannot be read marks the session unreadable and is a notice, not
    an exception. Raises the errors of `ledger/store.py`, and BusyError when other imports of the
    session keep moving the cursor.
    """
    summary = ImportSummary(harness=importer.name, native_id=session.native_id, session=session.id)
    if source.state in (StoreState.MISSING, StoreState.UNREADABLE):
        return _not_read(store, session, source, summary)
    before = ingest.cursor(store, session.id)
    if before is not None and sessions.is_unchanged(
        before.signature, source.signature, closed=closed
    ):
        summary.unchanged = True
        _note_state(store, session, source)
        return summary
    if sessions.is_forgotten(store, session.harness, session.native_id):
        summary.notices.append("it was forgotten on request: nothing of it is imported")
        return summary
    job = _Job(
        store=store,
        importer=importer,
        source=source,
        session=session,
        writer=ingest.Ingest(
            store,
            session,
            run=run,
            origin=origin,
            context=context or default_context(store),
        ),
        closed=closed,
        limits=limits or Limits(),
        progress=progress,
        summary=summary,
        ignored=ignored,
    )
    try:
        with _uncollected():
            facts = _read_on(job)
    except StoreUnreadable as error:
        _unreadable(store, session, str(error), summary)
        return summary
    _note_state(store, session, source)
    _notices(job, facts)
    return summary


def import_linked(
    store: Store,
    workstream: Workstream | int,
    *,
    skip: Collection[int] = (),
    open_sessions: Collection[str] = (),
    context: Context | None = None,
    progress: Progress | None = None,
    ignored: Callable[[], Ignored] = lambda: NOTHING,
) -> Iterator[ImportSummary]:
    """Import the tails of a workstream's linked sessions, one after the other.

    `skip` holds row ids; `open_sessions` native ids that a live run is writing: their events belong
    to that run, and a call without a result is still going on there. `ignored` makes the rules for
    one session. Sessions without anything new are yielded too, as unchanged.
    """
    for row in sessions.of_workstream(store, workstream):
        if row.id in skip:
            continue
        importer = registry.get(row.harness)
        is_open = row.native_id in open_sessions
        live = runs.live_of_session(store, row) if is_open else None
        try:
            source = importer.locate(Path(row.home), row.native_id)
        except StoreUnreadable as error:
            summary = ImportSummary(harness=row.harness, native_id=row.native_id, session=row.id)
            _unreadable(store, row, str(error), summary)
            yield summary
            continue
        yield import_session(
            store,
            importer,
            source,
            row,
            run=None if live is None else live.id,
            origin=origin_of(row, live is not None),
            closed=not is_open,
            context=context,
            progress=progress,
            ignored=ignored(),
        )


def origin_of(session: SessionRow, in_run: bool) -> Origin:
    """Return the origin of events that are found in a session now."""
    if in_run:
        return Origin.RUN
    return Origin.OUTSIDE if session.deliver else Origin.ARCHIVE


# --- one session --------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class _Job:
    """One import of one session."""

    store: Store
    importer: Importer
    source: Source
    session: SessionRow
    writer: ingest.Ingest
    closed: bool
    limits: Limits
    progress: Progress | None
    summary: ImportSummary
    ignored: Ignored


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the cycle collector off: a batch makes many objects, none of them in a cycle."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _read_on(job: _Job) -> SessionFacts | None:
    """Read from the stored cursor to the end, again from there whenever it moved under us."""
    for _ in range(MAX_TURNS):
        try:
            return _read_once(job)
        except ingest.CursorMovedError:
            continue
    raise BusyError(
        f"other imports of session {job.session.native_id} of {job.importer.name} keep going on",
        next_step="Run it again when they are done.",
    )


def _read_once(job: _Job) -> SessionFacts | None:
    store, session = job.store, job.session
    before = ingest.cursor(store, session.id)
    nodes = SessionNodes(store, session.id, Node)
    if before is None:
        nodes.clear()
    version = None if before is None else before.version
    state = None if before is None else before.state
    facts: SessionFacts | None = None
    batches = job.importer.read(job.source, state, nodes, job.limits, closed=job.closed)
    for whole in batches:
        batch = job.ignored.without(whole)
        facts = batch.facts
        additions, left_out = sort_items(batch)
        if not batch.items and batch.state == state and not nodes.dirty:
            continue
        step = CursorStep(expected=version, state=batch.state, signature="")
        applied = job.writer.apply(additions, step, nodes=nodes, facts=facts)
        version, state = applied.version, batch.state
        _count(job.summary, batch, additions, applied, left_out)
        if job.progress is not None:
            job.progress(batch.read_bytes, sum(applied.imported.values()))
    if version is not None:
        ingest.sign(store, session.id, version, _signature(job.source, closed=job.closed))
    return facts


def sort_items(batch: Batch) -> tuple[Additions, Counter[str]]:
    """Sort the items of a batch by what they are; returns the left-out counts beside them."""
    out = Additions()
    left_out: Counter[str] = Counter()
    lists: dict[type, list[Any]] = {
        Mark: out.marks,
        Sighting: out.sightings,
        Receipt: out.receipts,
        Turn: out.turns,
        Usage: out.usage,
        Limit: out.limits,
        FileFact: out.files,
        AgentCheck: out.checks,
    }
    for item in batch.items:
        if isinstance(item, Event):
            out.records.append(_identified(item))
        elif isinstance(item, Loss):
            out.records.append(Placed(item))
        elif isinstance(item, LeftOut):
            left_out[item.kind] += item.number
        elif isinstance(item, Plan):
            out.plan = item
        else:
            lists[type(item)].append(item)
    out.left_out = dict(left_out)
    return out, left_out


def _identified(event: Event) -> Event:
    """Keep the end of a call that was cut off apart from its real result.

    A closed session yields an interrupted result for a call without one. When the session goes on
    after all, the real result has the same identity; under its own both are stored, and readers
    let the real one count.
    """
    if event.kind is Kind.TOOL_RESULT and event.status == "interrupted":
        return event._replace(identity=(*event.identity, "interrupted"))
    return event


def _count(
    summary: ImportSummary,
    batch: Batch,
    additions: Additions,
    applied: Applied,
    left_out: Counter[str],
) -> None:
    for kind, count in applied.imported.items():
        if kind != "annotation":
            summary.imported[kind] = summary.imported.get(kind, 0) + count
    summary.annotations += [_annotation(summary, what) for what in applied.annotations]
    summary.known += applied.known
    summary.sightings += len(additions.sightings)
    summary.receipts += len(additions.receipts)
    summary.bytes += batch.read_bytes
    for counts, total in ((left_out, summary.left_out), (applied.redactions, summary.redactions)):
        for kind, count in counts.items():
            total[kind] = total.get(kind, 0) + count
    if applied.forgotten:
        summary.left_out["forgotten"] = summary.left_out.get("forgotten", 0) + applied.forgotten


def _annotation(summary: ImportSummary, what: Annotated) -> Mapping[str, Any]:
    return {
        "session": summary.native_id,
        "reason": what.reason,
        "position": what.position,
        "detail": what.detail,
    }


def _signature(source: Source, *, closed: bool) -> str:
    return f"{'closed' if closed else 'open'}|{source.signature}"


# --- what is said about it ----------------------------------------------------------------------


def _not_read(
    store: Store, session: SessionRow, source: Source, summary: ImportSummary
) -> ImportSummary:
    if source.state is StoreState.UNREADABLE:
        _unreadable(store, session, source.detail or "no reason known", summary)
        return summary
    sessions.set_state(store, session, SessionState.MISSING, source.detail)
    summary.readable = False
    detail = f": {source.detail}" if source.detail else ""
    summary.notices.append(f"it is gone from its store{detail}; what was imported stays")
    return summary


def _unreadable(store: Store, session: SessionRow, why: str, summary: ImportSummary) -> None:
    sessions.set_state(store, session, SessionState.UNREADABLE, why)
    summary.readable = False
    summary.notices.append(f"it cannot be read: {why}")


def _note_state(store: Store, session: SessionRow, source: Source) -> None:
    """Store that the session was found, and where; mostly there is nothing to write."""
    path = None if source.path is None else str(source.path)
    now = (str(source.state), source.detail, path or session.store_path)
    if now != (str(session.state), session.state_detail, session.store_path):
        sessions.set_state(store, session, str(source.state), source.detail, path=path)


def _notices(job: _Job, facts: SessionFacts | None) -> None:
    summary = job.summary
    version = facts.version if facts is not None else None
    if version is not None and version != job.session.version and not _verified(job, version):
        summary.notices.append(
            f"it was written by {job.importer.name} {version}, a version this program has not seen"
        )
    unknown = {kind: n for kind, n in summary.left_out.items() if kind.startswith(UNKNOWN)}
    if unknown:
        kinds = ", ".join(
            f"{kind.removeprefix(UNKNOWN)} ({count})" for kind, count in sorted(unknown.items())
        )
        summary.notices.append(f"it has kinds of record that are not known: {kinds}")
    if summary.annotations:
        first = summary.annotations[0]
        summary.notices.append(
            f"{len(summary.annotations)} things could not be imported as they are, first:"
            f" {first['reason']} at {first['position']}"
        )
    if summary.bytes and job.closed and not _has_assistant(job) and not _is_blank(job):
        summary.notices.append("it has no assistant message: perhaps its format is not understood")
    lost = deliveries.lost(job.store, session=job.session.id) if summary.sightings else 0
    if lost:
        summary.notices.append(
            f"it was shown {lost} briefing{'s' if lost > 1 else ''} of a ledger that is not here:"
            " handoffs made there are lost, or kept elsewhere"
        )


def _verified(job: _Job, version: str) -> bool:
    return any(
        version == known or version.startswith((known + ".", known + "-")) or known == ""
        for known in (prefix.rstrip(".") for prefix in job.importer.versions)
    )


def _is_blank(job: _Job) -> bool:
    """Tell whether a session was only opened: it holds nothing but records about itself."""
    summary = job.summary
    if summary.imported or set(summary.left_out) - {"bookkeeping"}:
        return False
    return not sessions.event_count(job.store, job.session)


def _has_assistant(job: _Job) -> bool:
    if job.summary.imported.get(Kind.ASSISTANT_MESSAGE):
        return True
    return ingest.has_kind(job.store, job.session.id, Kind.ASSISTANT_MESSAGE)

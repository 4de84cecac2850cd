"""Taking the visible work of one native session into its workstream, batch by batch.

The invariant this module protects: a batch and the cursor behind it are committed together or not
at all, so that any crash, and any two importers at once, leave what an undisturbed import would
have left. Event ids deduplicate: an event that another session brought gains a membership, nothing
else; the same event of the same session again changes nothing.

Secrets are replaced before anything is cut, stored or indexed, and before the transaction starts.
Two tool results may carry one call id: a reader reports a call that was cut off as interrupted
(identity + "interrupted", see `importers/service.py`), and the real result may still come. Both
stay; readers of the log let the one that is not interrupted count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ledger import append, content, ids, observations, receipts, sessions
from ledger.content import storable
from ledger.incoming import (
    Additions,
    Annotated,
    Applied,
    Context,
    CursorStep,
    NewEvent,
    NewFacts,
    NewLoss,
    Placed,
)
from ledger.model import EventKind
from ledger.redaction import loose_strings, scrub, scrub_json
from ledger.redaction.sieve import suspects

if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from ledger.model import Origin, SessionRow
    from ledger.nodes import SessionNodes
    from ledger.store import Store

_CHUNK: Final = 400
"""Ids per `IN (...)`, below SQLite's lowest limit of bound values."""


class CursorMovedError(Exception):
    """Another import moved this session's cursor; read again from the stored state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """How far a session has been imported."""

    version: int
    state: str
    signature: str


@dataclass(slots=True)
class _Place:
    """Where an event stands in the session."""

    depth: int
    record: int
    block: int
    active: bool


@dataclass(slots=True)
class _Incoming:
    """An event of the batch on its way: `row` is made only when it may be new."""

    event_id: str
    place: _Place
    tag: bytes
    source: NewEvent | None
    raw: bytes | None = None
    """The text in UTF-8; None when it has lone surrogates."""
    tool_json: str | None = None
    plain_text: bool = False
    """The text is known to hold no secret."""
    plain_input: bool = False
    row: append.Row | None = None
    eid: int = 0


@dataclass(slots=True)
class _Work:
    """State of one `apply`."""

    incoming: list[_Incoming]
    by_id: dict[str, _Incoming]
    redactions: Counter[str] = field(default_factory=Counter)
    annotations: dict[str, Annotated] = field(default_factory=dict)
    changed: dict[int, tuple[bool, bool]] = field(default_factory=dict)
    """eid -> (active before the batch, active now)"""
    known: int = 0
    forgotten: int = 0
    session_forgotten: bool = False
    """Nothing but the cursor may be kept of this session."""


def cursor(store: Store, session: int) -> Cursor | None:
    """Return how far a session has been imported, or None."""
    row = store.one("SELECT version, state, signature FROM cursor WHERE session = ?", session)
    if row is None:
        return None
    return Cursor(version=row["version"], state=row["state"], signature=row["signature"])


def sign(store: Store, session: int, version: int, signature: str) -> bool:
    """Note the signature of the files after a complete import; False when the cursor moved.

    Losing this write to a power cut only costs a look at the files, so it waits for no disk.
    """
    store.db.execute("PRAGMA synchronous = NORMAL")
    try:
        with store.transaction() as db:
            done = db.execute(
                "UPDATE cursor SET signature = ? WHERE session = ? AND version = ?",
                (signature, session, version),
            )
            return done.rowcount == 1
    finally:
        store.db.execute("PRAGMA synchronous = FULL")


def has_kind(store: Store, session: int, kind: str) -> bool:
    """Return whether a session has an event of a kind."""
    found = store.one(
        "SELECT 1 FROM membership JOIN event ON event.eid = membership.eid"
        " WHERE membership.session = ? AND event.kind = ? LIMIT 1",
        session,
        kind,
    )
    return found is not None


class Ingest:
    """Imports into one session of one workstream, for one run or none."""

    def __init__(
        self,
        store: Store,
        session: SessionRow,
        *,
        run: str | None,
        origin: Origin,
        context: Context,
    ) -> None:
        """Prepare; nothing is written before `apply`. `session.harness` is the adapter's name."""
        self._store = store
        self._session = session
        self._author = append.Author(
            harness=session.entry, session=session.id, run=run, origin=origin
        )
        self._run = run
        self._context = context
        self._contexts: dict[str | None, int] = {}
        self._last_at = session.last_at or session.started_at

    def apply(
        self,
        additions: Additions,
        step: CursorStep,
        *,
        nodes: SessionNodes[Any] | None = None,
        facts: NewFacts | None = None,
    ) -> Applied:
        """Commit a batch with its cursor step in one transaction.

        Raises CursorMovedError (nothing written) when the cursor is not at `step.expected`, and
        the errors of `ledger/store.py`.
        """
        work = self._identify(additions.records)
        head_seq = self._head_seq()
        looked_up = len(work.by_id)
        known = self._known(work.by_id)
        self._prepare(work, known)
        with self._store.transaction() as db:
            version = self._advance(db, step)
            self._refuse_tombstones(work)
            fresh = self._head_seq() == head_seq and not work.forgotten
            known |= self._known(list(work.by_id)[looked_up if fresh else 0 :])
            if nodes is not None:
                if nodes.restarted:
                    self._restart(db)
                nodes.flush(db)
            appended = self._append(work, known)
            self._place(db, work, known)
            if not work.session_forgotten:
                self._observe(db, work, additions, appended.head_seq)
            self._mark(db, work, additions, appended.head_seq)
            if facts is not None and not work.session_forgotten:
                sessions.update_facts(self._store, self._session.id, facts)
        if nodes is not None:
            nodes.flushed()
        return self._applied(work, version, appended.head_seq)

    # --- before the transaction -------------------------------------------------------------

    def _identify(self, records: Sequence[NewEvent | Placed]) -> _Work:
        """Give every record its id; of two records with one id the first stays."""
        work = _Work(incoming=[], by_id={})
        harness = self._session.harness
        depth = 0
        for record in records:
            if isinstance(record, Placed):
                self._annotate_loss(work, record.loss, depth)
                continue
            depth = record.depth
            self._last_at = record.at
            tool_json = _dump(record.tool_input)
            raw = _encoded(record.text)
            text = record.text if raw is None else raw
            item = _Incoming(
                ids.event_id(harness, record.kind, record.identity),
                _Place(record.depth, record.record, record.block, record.active),
                self._store.tag(content.canonical(text, record.tool, tool_json, record.exit_code)),
                record,
                raw,
                tool_json,
            )
            first = work.by_id.get(item.event_id)
            if first is None:
                work.by_id[item.event_id] = item
                work.incoming.append(item)
            elif first.tag != item.tag:
                self._annotate_change(work, item)
        return work

    def _prepare(self, work: _Work, known: dict[str, tuple[int, bytes | None]]) -> None:
        """Scrub what seems to be new; find what changed at the source."""
        _sieve([item for item in work.incoming if item.event_id not in known])
        for item in list(work.incoming):
            before = known.get(item.event_id)
            if before is None:
                if item.source is not None:
                    self._make_row(work, item, item.source)
            elif item.source is not None and before[1] is not None and before[1] != item.tag:
                self._annotate_change(work, item)

    def _make_row(self, work: _Work, item: _Incoming, event: NewEvent) -> None:
        counts: Counter[str] = Counter()
        text, raw = event.text, item.raw
        if raw is None or not item.plain_text:
            text, raw = _scrubbed(event.text, counts)
        tool_json = item.tool_json
        if tool_json is not None and not item.plain_input:
            tool_json, _ = storable(tool_json)
            value, found = scrub_json(json.loads(tool_json))
            if found:
                tool_json = _dump(value)
                counts.update(found)
        if counts:
            work.redactions.update(counts)
        size = len(raw)
        if size > content.LARGEST:
            raw = content.stub(raw)
            text = raw.decode()
            self._annotate_stub(work, item, size)
        item.row = append.Row(
            event_id=item.event_id,
            kind=str(event.kind),
            role=event.role,
            text=text,
            raw=raw,
            size=size,
            tag=item.tag,
            at=event.at,
            context=0,
            call_id=_plain(event.call_id),
            tool=_plain(event.tool),
            tool_input=tool_json,
            exit_code=event.exit_code,
            status=event.status,
            turn=_plain(event.turn),
            meta=_meta(event.meta, counts),
        )

    def _annotate_loss(self, work: _Work, loss: NewLoss, depth: int) -> None:
        detail = observations.cleaned(loss.detail)
        self._annotate(
            work,
            (self._session.native_id, loss.position, loss.reason),
            Annotated(reason=loss.reason, position=loss.position, detail=detail),
            _Place(depth or loss.record, loss.record, 0, active=True),
            length=loss.length,
        )

    def _annotate_change(self, work: _Work, item: _Incoming) -> None:
        self._annotate(
            work,
            (item.event_id, "source_changed"),
            Annotated(
                reason="source_changed",
                position=item.event_id,
                detail="the record differs from what was imported first; the first stays",
            ),
            item.place,
        )

    def _annotate_stub(self, work: _Work, item: _Incoming, size: int) -> None:
        self._annotate(
            work,
            (item.event_id, "too_large"),
            Annotated(
                reason="too_large",
                position=item.event_id,
                detail=f"a text of {size} bytes is kept as its beginning and end",
            ),
            item.place,
            length=size,
        )

    def _annotate(
        self,
        work: _Work,
        identity: tuple[str, ...],
        what: Annotated,
        place: _Place,
        *,
        length: int | None = None,
    ) -> None:
        kind = EventKind.ANNOTATION
        event_id = ids.event_id(self._session.harness, kind, identity)
        if event_id in work.by_id:
            return
        text, raw = storable(f"{what.reason} at {what.position}: {what.detail}")
        tag = self._store.tag(raw)
        item = _Incoming(event_id, place, tag, None)
        meta = {"v": 1, "position": what.position, "session": self._session.native_id}
        item.row = append.Row(
            event_id=event_id,
            kind=kind,
            text=text,
            raw=raw,
            size=len(raw),
            tag=tag,
            at=self._last_at or self._store.clock.now_ms(),
            context=0,
            status=what.reason,
            meta=_dump(meta if length is None else {**meta, "length": length}),
        )
        work.by_id[event_id] = item
        work.incoming.append(item)
        work.annotations[event_id] = what

    # --- inside the transaction -------------------------------------------------------------

    def _advance(self, db: sqlite3.Connection, step: CursorStep) -> int:
        now = self._store.clock.now_ms()
        if step.expected is None:
            done = db.execute(
                "INSERT INTO cursor (session, version, state, signature, updated_at)"
                " VALUES (?,1,?,?,?) ON CONFLICT (session) DO NOTHING",
                (self._session.id, step.state, step.signature, now),
            )
        else:
            done = db.execute(
                "UPDATE cursor SET version = version + 1, state = ?, signature = ?, updated_at = ?"
                " WHERE session = ? AND version = ?",
                (step.state, step.signature, now, self._session.id, step.expected),
            )
        if done.rowcount != 1:
            raise CursorMovedError
        return (step.expected or 0) + 1

    def _head_seq(self) -> int:
        """Return the newest sequence number: while it stays, no other event came in."""
        row = self._store.one(
            "SELECT head_seq FROM workstream WHERE id = ?", self._session.workstream
        )
        return 0 if row is None else int(row["head_seq"])

    def _known(self, wanted: Iterable[str]) -> dict[str, tuple[int, bytes | None]]:
        """Return eid and source tag of the ids that the workstream has."""
        found: dict[str, tuple[int, bytes | None]] = {}
        for chunk in _chunks(list(wanted)):
            rows = self._store.all(
                "SELECT event_id, eid, (SELECT source_tag FROM body WHERE body.eid = event.eid)"
                f" FROM event WHERE workstream = ? AND event_id IN ({_marks(chunk)})",
                self._session.workstream,
                *chunk,
            )
            for event_id, eid, tag in rows:
                found[event_id] = (eid, tag)
        return found

    def _refuse_tombstones(self, work: _Work) -> None:
        """Take out what was forgotten; with a forgotten session nothing is left."""
        session = sessions.is_forgotten(
            self._store, self._session.harness, self._session.native_id
        ) or self._store.one(
            "SELECT 1 FROM tombstone JOIN workstream ON key = uid"
            " WHERE scope = 'workstream' AND id = ?",
            self._session.workstream,
        )
        if session:
            work.session_forgotten = True
            gone = set(work.by_id)
        elif self._store.one("SELECT 1 FROM tombstone WHERE scope = 'event' LIMIT 1") is None:
            return
        else:
            gone = set()
            for chunk in _chunks(list(work.by_id)):
                rows = self._store.all(
                    f"SELECT key FROM tombstone WHERE scope = 'event' AND key IN ({_marks(chunk)})",
                    *chunk,
                )
                gone.update(row["key"] for row in rows)
        for event_id in gone:
            del work.by_id[event_id]
            work.annotations.pop(event_id, None)
        work.incoming = [item for item in work.incoming if item.event_id in work.by_id]
        work.forgotten = len(gone)

    def _restart(self, db: sqlite3.Connection) -> None:
        """Mark all positions as not valid: the session is read from its start again."""
        session = self._session.id
        db.execute(
            "UPDATE membership SET record = -1 - record WHERE session = ? AND record >= 0",
            (session,),
        )
        db.execute(
            "UPDATE sighting SET record = -1 - record, active = 0"
            " WHERE session = ? AND record >= 0",
            (session,),
        )
        observations.forget_counts(db, session)

    def _append(self, work: _Work, known: dict[str, tuple[int, bytes | None]]) -> append.Appended:
        fresh: list[_Incoming] = []
        rows: list[append.Row] = []
        for item in work.incoming:
            found = known.get(item.event_id)
            if found is not None:
                item.eid = found[0]
                item.row = None
                work.annotations.pop(item.event_id, None)
                work.known += 1
                continue
            if item.row is None:
                # It was there when we looked and is not any more; only `forget` removes rows.
                raise CursorMovedError
            item.row.context = self._context_id(item.source.cwd if item.source else None)
            fresh.append(item)
            rows.append(item.row)
        appended = append.append(self._store, self._session.workstream, rows, self._author)
        for number, item in enumerate(fresh):
            item.eid = appended.first_eid + number
        return appended

    def _context_id(self, cwd: str | None) -> int:
        if cwd not in self._contexts:
            self._contexts[cwd] = context_id(
                self._store,
                Context(
                    owner=self._context.owner,
                    host=self._context.host,
                    store=self._session.store,
                    cwd=_plain(cwd or self._context.cwd),
                    head=self._context.head,
                ),
            )
        return self._contexts[cwd]

    def _place(
        self,
        db: sqlite3.Connection,
        work: _Work,
        known: dict[str, tuple[int, bytes | None]],
    ) -> None:
        """Add memberships; one whose record is gone from the files is placed anew."""
        session = self._session.id
        there = self._members([item.eid for item in work.incoming if item.event_id in known])
        fresh, moved = [], []
        for item in work.incoming:
            place = item.place
            before = there.get(item.eid)
            if before is None:
                fresh.append(
                    (session, item.eid, place.depth, place.record, place.block, int(place.active))
                )
                if not place.active:
                    work.changed[item.eid] = (True, False)
            elif before[1] < 0:
                moved.append(
                    (place.depth, place.record, place.block, int(place.active), session, item.eid)
                )
                if before[0] != place.active:
                    work.changed[item.eid] = (before[0], place.active)
        db.executemany(
            "INSERT INTO membership (session, eid, depth, record, block, active)"
            " VALUES (?,?,?,?,?,?)",
            fresh,
        )
        db.executemany(
            "UPDATE membership SET depth = ?, record = ?, block = ?, active = ?"
            " WHERE session = ? AND eid = ?",
            moved,
        )

    def _members(self, eids: list[int]) -> dict[int, tuple[bool, int]]:
        """Return (active, record) of those that the session has already."""
        found: dict[int, tuple[bool, int]] = {}
        for chunk in _chunks(eids):
            rows = self._store.all(
                "SELECT eid, active, record FROM membership"
                f" WHERE session = ? AND eid IN ({_marks(chunk)})",
                self._session.id,
                *chunk,
            )
            for eid, active, record in rows:
                found[eid] = (bool(active), record)
        return found

    def _observe(
        self, db: sqlite3.Connection, work: _Work, additions: Additions, head_seq: int
    ) -> None:
        session = self._session
        now = self._store.clock.now_ms()
        db.executemany(
            """
            INSERT INTO sighting (session, delivery, depth, record, active, found_at)
            VALUES (?,?,?,?,?,?)
            ON CONFLICT (session, delivery) DO UPDATE SET
                depth = excluded.depth, record = excluded.record, active = excluded.active
            WHERE sighting.record < 0 OR excluded.active > sighting.active
            """,
            [
                (session.id, item.delivery, item.depth, item.record, int(item.active), now)
                for item in additions.sightings
            ],
        )
        receipts.keep(self._store, session, additions.receipts)
        observations.turns(db, session.id, additions.turns)
        if additions.plan is not None and not work.forgotten:
            observations.plan(db, session.id, additions.plan)
        observations.usage(
            db, session.id, additions.usage, after=self._inherited(work) if additions.usage else 0
        )
        observations.limits(db, session, additions.limits, self._run)
        observations.files(db, session, additions.files, head_seq)
        observations.checks(db, session.id, additions.checks)
        observations.count_left_out(db, session.id, additions.left_out)

    def _inherited(self, work: _Work) -> int:
        """Return the time of the batch's newest event that another session brought; 0: none."""
        newest = 0
        for chunk in _chunks([item.eid for item in work.incoming if item.row is None]):
            row = self._store.one(
                f"SELECT max(occurred_at) FROM event WHERE eid IN ({_marks(chunk)})"
                " AND session <> ?",
                *(*chunk, self._session.id),
            )
            newest = max(newest, 0 if row is None or row[0] is None else int(row[0]))
        return newest

    def _mark(
        self, db: sqlite3.Connection, work: _Work, additions: Additions, head_seq: int
    ) -> None:
        """Apply the marks in order; log each event whose state differs after the batch."""
        session = self._session.id
        for mark in additions.marks:
            span = (session, max(mark.first, 0), mark.last, int(mark.active))
            rows = db.execute(
                "SELECT eid FROM membership"
                " WHERE session = ? AND record BETWEEN ? AND ? AND active <> ?",
                span,
            ).fetchall()
            for (eid,) in rows:
                before = work.changed.get(eid, (not mark.active, mark.active))[0]
                work.changed[eid] = (before, mark.active)
            for table in ("membership", "sighting"):
                db.execute(
                    f"UPDATE {table} SET active = ?4"
                    " WHERE session = ?1 AND record BETWEEN ?2 AND ?3 AND active <> ?4",
                    span,
                )
        now = self._store.clock.now_ms()
        db.executemany(
            "INSERT INTO branch_mark (session, eid, state, at_seq, at) VALUES (?,?,?,?,?)",
            [
                (session, eid, "active" if after else "superseded", head_seq, now)
                for eid, (before, after) in sorted(work.changed.items())
                if before != after
            ],
        )

    def _applied(self, work: _Work, version: int, head_seq: int) -> Applied:
        imported: Counter[str] = Counter(
            item.row.kind for item in work.incoming if item.row is not None
        )
        return Applied(
            imported=dict(imported),
            known=work.known,
            annotations=tuple(work.annotations.values()),
            redactions=dict(work.redactions),
            forgotten=work.forgotten,
            version=version,
            head_seq=head_seq,
        )


def context_id(store: Store, context: Context) -> int:
    """Return the row id of a context, adding it when it is new. Call it inside a transaction."""
    values = (context.owner, context.host, context.store, context.cwd, context.head)
    row = store.one(
        "SELECT id FROM context WHERE owner = ? AND host = ? AND store IS ? AND cwd IS ?"
        " AND head IS ?",
        *values,
    )
    if row is not None:
        return int(row["id"])
    made = store.db.execute(
        "INSERT INTO context (owner, host, store, cwd, head) VALUES (?,?,?,?,?)", values
    )
    return int(made.lastrowid or 0)


def _sieve(items: Sequence[_Incoming]) -> None:
    """Find out, for all of them at once, which hold nothing that is to be scrubbed."""
    texts: list[bytes] = []
    owners: list[tuple[_Incoming, bool]] = []
    for item in items:
        if item.source is None:
            continue
        if item.raw is not None:
            item.plain_text = True
            texts.append(item.raw)
            owners.append((item, True))
        parts = None if item.tool_json is None else _parts(item.source.tool_input)
        if parts is not None:
            item.plain_input = True
            texts += parts
            owners += [(item, False)] * len(parts)
    for number in suspects(texts):
        item, is_text = owners[number]
        if is_text:
            item.plain_text = False
        else:
            item.plain_input = False


def _parts(tool_input: object) -> list[bytes] | None:
    """Return the strings of a tool's input; None when they are not all that counts."""
    strings = loose_strings(tool_input)  # type: ignore[arg-type]
    if strings is None:
        return None
    try:
        return [string.encode() for string in strings]
    except UnicodeEncodeError:
        return None


def _encoded(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _scrubbed(text: str, counts: Counter[str]) -> tuple[str, bytes]:
    """Return the text as it may be stored, with its bytes; counts what was replaced."""
    text, raw = storable(text)
    scrubbed = scrub(text)
    if scrubbed.text is text:
        return text, raw
    counts.update(scrubbed.counts)
    return scrubbed.text, scrubbed.text.encode()


def _dump(value: object) -> str | None:
    if value is None:
        return None
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _meta(given: object, redacted: Counter[str]) -> str | None:
    meta: dict[str, object] = dict(given) if isinstance(given, dict) else {}
    if redacted:
        meta["redacted"] = dict(sorted(redacted.items()))
    if not meta:
        return None
    text = _dump({"v": 1, **meta})
    return None if text is None else storable(text)[0]


def _plain(text: str | None) -> str | None:
    return text if text is None or text.isascii() else storable(text)[0]


def _chunks(items: list[Any]) -> Iterator[list[Any]]:
    for start in range(0, len(items), _CHUNK):
        yield items[start : start + _CHUNK]


def _marks(items: Sequence[object]) -> str:
    return ",".join("?" * len(items))

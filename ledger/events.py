"""Reading the log: events in sequence, one event by reference, whole bodies, counts.

An event is called `e<seq>` inside its workstream. What was forgotten stays in the log as a row
without text, with the status `forgotten`: sequence and chain have no gaps.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ledger.content import PLAIN, ZLIB, decode_body
from ledger.errors import StateCorruptError, UnavailableError
from ledger.model import Branch, EventKind, EventRow, Origin, Workstream, workstream_id

if TYPE_CHECKING:
    import sqlite3
    from typing import Any

    from ledger.store import Store

FORGOTTEN: Final = "forgotten"
"""Status of an event whose body was taken away on request."""

_COLUMNS: Final = """
    SELECT event.eid, event.workstream, event.seq, event.event_id, event.kind, event.role,
        event.harness, event.session AS session_id, session.native_id AS native_id,
        event.call_id, event.tool, event.exit_code, event.status, event.occurred_at,
        event.imported_at, event.turn, event.run, event.origin,
        body.codec, body.bytes, body.tool_input,
"""
_SUPERSEDED: Final = """
        EXISTS (SELECT 1 FROM membership WHERE membership.eid = event.eid AND active = 0)
        AND NOT EXISTS (SELECT 1 FROM membership WHERE membership.eid = event.eid AND active = 1),
"""
_INLINE: Final = "0, CASE WHEN body.codec = 0 THEN body.data END AS data"
_WHOLE: Final = "body.data AS data"
# substr() of an empty blob is NULL.
_HEAD: Final = "coalesce(substr(body.data, 1, {limit}), x'') AS data"
_TABLES: Final = """
    FROM event
    LEFT JOIN body ON body.eid = event.eid
    LEFT JOIN session ON session.id = event.session
"""
_KINDS: Final = {str(kind): kind for kind in EventKind}
_ORIGINS: Final = {str(origin): origin for origin in Origin}
_PAGE: Final = 500
_CHUNK: Final = 400
_SEQ: Final = re.compile(r"e?(\d{1,18})", re.IGNORECASE)
_CANDIDATES: Final = 5


def log(
    store: Store,
    workstream: Workstream | int,
    *,
    limit: int = 50,
    before: int | None = None,
    after: int | None = None,
    kinds: Collection[str] | None = None,
    text_bytes: int | None = None,
) -> list[EventRow]:
    """Return the newest `limit` events, oldest first; 0 means all.

    `before` and `after` bound the sequence numbers (both exclusive); `text_bytes` cuts the texts.
    """
    if limit == 0:
        return list(
            stream(
                store, workstream, before=before, after=after, kinds=kinds, text_bytes=text_bytes
            )
        )
    where, values = _conditions(workstream, before, after, kinds)
    rows = store.all(
        f"{_select(text_bytes)} WHERE {where} ORDER BY event.seq DESC LIMIT ?", *values, limit
    )
    return [event_row(row, text_bytes) for row in reversed(rows)]


def stream(
    store: Store,
    workstream: Workstream | int,
    *,
    before: int | None = None,
    after: int | None = None,
    kinds: Collection[str] | None = None,
    text_bytes: int | None = None,
) -> Iterator[EventRow]:
    """Yield events oldest first, page by page: memory does not grow with the log."""
    at = after or 0
    while True:
        where, values = _conditions(workstream, before, at, kinds)
        rows = store.all(
            f"{_select(text_bytes)} WHERE {where} ORDER BY event.seq LIMIT ?", *values, _PAGE
        )
        for row in rows:
            yield event_row(row, text_bytes)
        if len(rows) < _PAGE:
            return
        at = rows[-1]["seq"]


def get(
    store: Store, workstream: Workstream | int, reference: str, *, text_bytes: int | None = None
) -> EventRow:
    """Return the event that `e1532`, `1532` or the beginning of an event id means.

    A number is a sequence number. Raises UnavailableError when there is none, or several.
    """
    number = workstream_id(workstream)
    word = reference.strip()
    found = _SEQ.fullmatch(word)
    if found is not None:
        row = store.one(
            f"{_select(text_bytes)} WHERE event.workstream = ? AND event.seq = ?",
            *(number, int(found[1])),
        )
        if row is None:
            raise _no_such_seq(store, number, word)
        return event_row(row, text_bytes)
    return event_row(_by_prefix(store, number, word, text_bytes), text_bytes)


def by_eids(
    store: Store, eids: Iterable[int], *, text_bytes: int | None = None, inline: bool = False
) -> dict[int, EventRow]:
    """Return events by row id; unknown ids are not in the result.

    `inline` is for events that are known to be active: their branch is not looked up, and texts
    that are stored compressed are left out (`truncated`, see `body`), which bounds what is read to
    16 KiB for each event.
    """
    wanted = list(eids)
    found: dict[int, EventRow] = {}
    select = _COLUMNS + _INLINE + _TABLES if inline else _select(text_bytes)
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        rows = store.all(f"{select} WHERE event.eid IN ({marks})", *chunk)
        found.update((row["eid"], event_row(row, text_bytes)) for row in rows)
    return found


def body(store: Store, eid: int) -> str | None:
    """Return the stored text of an event, whole; None when it was forgotten or never there."""
    row = store.one("SELECT codec, data FROM body WHERE eid = ?", eid)
    return None if row is None else _decoded(store, eid, row["codec"], row["data"])


def counts(store: Store, workstream: Workstream | int) -> dict[str, int]:
    """Return how many events of each kind there are; kinds without any are not in it."""
    rows = store.all(
        "SELECT kind, count(*) FROM event WHERE workstream = ? GROUP BY kind ORDER BY kind",
        workstream_id(workstream),
    )
    return {str(kind): int(count) for kind, count in rows}


def event_row(row: sqlite3.Row, text_bytes: int | None = None) -> EventRow:
    """Build an EventRow from a row of this module's selection."""
    # By position, and enumerations by dictionary: thousands of these are made for a briefing.
    (
        eid, workstream, seq, event_id, kind, role, harness, session_id, native_id, call_id,
        tool, exit_code, status, occurred_at, imported_at, turn, run, origin,
        codec, size, tool_input, superseded, data,
    ) = row  # fmt: skip
    text, truncated = "", False
    if codec is None:
        status, size = FORGOTTEN, 0
    else:
        text, truncated = _text(seq, codec, data, size, text_bytes)
    return EventRow(
        eid=eid,
        workstream=workstream,
        seq=seq,
        event_id=event_id,
        kind=_KINDS[kind],
        role=role,
        harness=harness,
        session=native_id,
        session_id=session_id,
        text=text,
        truncated=truncated,
        call_id=call_id,
        tool=tool,
        tool_input=tool_input,
        exit_code=exit_code,
        status=status,
        occurred_at=occurred_at,
        imported_at=imported_at,
        turn=turn,
        branch=Branch.SUPERSEDED if superseded else Branch.ACTIVE,
        run=run,
        origin=_ORIGINS[origin],
        bytes=size,
    )


def _text(
    seq: int, codec: int, data: bytes | None, size: int, limit: int | None
) -> tuple[str, bool]:
    """Return the text, cut to `limit` bytes at a character, and whether that is not the whole."""
    if data is None:
        return "", True
    if limit is not None:
        text = head(codec, data, limit)
        return text, size > len(text.encode())
    try:
        text = decode_body(codec, data)
    except ValueError as error:
        raise _damaged(seq, error) from error
    # A stub stands for a longer text that is not kept; it is short, so never compressed.
    return text, codec == PLAIN and len(data) < size


def head(codec: int, data: bytes, limit: int) -> str:
    """Return at most `limit` bytes of a stored text; `data` may end after them.

    Damaged data gives what can be read of it.
    """
    if codec == PLAIN:
        return data[:limit].decode("utf-8", "ignore")
    if codec == ZLIB:
        try:
            return zlib.decompressobj().decompress(data, limit).decode("utf-8", "ignore")
        except zlib.error:
            return ""
    return ""


def _select(text_bytes: int | None) -> str:
    # A prefix of the stored bytes is enough for a prefix of the text, compressed or not: zlib may
    # grow incompressible data a little, hence the margin.
    data = _WHOLE if text_bytes is None else _HEAD.format(limit=max(0, int(text_bytes)) + 256)
    return _COLUMNS + _SUPERSEDED + data + _TABLES


def _conditions(
    workstream: Workstream | int,
    before: int | None,
    after: int | None,
    kinds: Collection[str] | None,
) -> tuple[str, list[Any]]:
    parts, values = ["event.workstream = ?"], [workstream_id(workstream)]
    if before is not None:
        parts.append("event.seq < ?")
        values.append(before)
    if after:
        parts.append("event.seq > ?")
        values.append(after)
    if kinds is not None:
        parts.append(f"event.kind IN ({','.join('?' * len(kinds))})")
        return " AND ".join(parts), [*values, *(str(kind) for kind in kinds)]
    return " AND ".join(parts), values


def _by_prefix(store: Store, workstream: int, word: str, text_bytes: int | None) -> sqlite3.Row:
    where = "event.workstream = ? AND event.event_id >= ? AND event.event_id < ?"
    lowered = word.lower()
    rows: Sequence[sqlite3.Row] = ()
    for prefix in (lowered, f"ev1-{lowered}"):
        if not rows and lowered:
            rows = store.all(
                f"{_select(text_bytes)} WHERE {where} ORDER BY event.seq LIMIT ?",
                *(workstream, prefix, prefix + "\U0010ffff", _CANDIDATES + 1),
            )
    if not rows:
        raise UnavailableError(
            f"there is no event {word!r} in this workstream",
            next_step="Events are named e<number> as in `workstream log`, or by the beginning of"
            " their id.",
        )
    if len(rows) > 1:
        named = ", ".join(f"e{row['seq']}" for row in rows[:_CANDIDATES])
        more = " and others" if len(rows) > _CANDIDATES else ""
        raise UnavailableError(
            f"{word!r} is the beginning of several event ids: {named}{more}",
            next_step="Give more of the id, or the number.",
        )
    return rows[0]


def _no_such_seq(store: Store, workstream: int, word: str) -> UnavailableError:
    row = store.one("SELECT head_seq FROM workstream WHERE id = ?", workstream)
    head_seq = 0 if row is None else row["head_seq"]
    known = f"It has e1 to e{head_seq}." if head_seq else "It has no events yet."
    return UnavailableError(f"there is no event {word!r} in this workstream", next_step=known)


def _decoded(store: Store, eid: int, codec: int, data: bytes) -> str:
    try:
        return decode_body(codec, data)
    except ValueError as error:
        raise StateCorruptError(
            f"the text of event {eid} in {store.path} is damaged",
            detail=str(error),
            next_step="Check the ledger with: workstream verify",
        ) from error


def _damaged(seq: int, error: ValueError) -> StateCorruptError:
    return StateCorruptError(
        f"the text of e{seq} is damaged",
        detail=str(error),
        next_step="Check the ledger with: workstream verify",
    )

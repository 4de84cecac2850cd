"""The one way into the log: rows get a sequence number, a digest and a chain value, in order.

The invariant this module protects: in a workstream `seq` is gapless from 1 and every chain value
follows from the one before it. Rows must be scrubbed, and new to the workstream, before they come
here; everything happens inside the caller's transaction.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ledger import content
from ledger.errors import UnavailableError
from ledger.index import index_rows
from ledger.redaction import SCRUB_VERSION

if TYPE_CHECKING:
    from ledger.model import Origin
    from ledger.store import Store

_SALT: Final = 16

_EVENT: Final = """
    INSERT INTO event (
        eid, workstream, seq, event_id, kind, role, harness, session, call_id, tool, exit_code,
        status, occurred_at, imported_at, turn, context, run, origin, scrub_version,
        content_digest, chain, meta)
    VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
"""
_BODY: Final = """
    INSERT INTO body (eid, salt, codec, data, bytes, tool_input, source_tag)
    VALUES (?,?,?,?,?,?,?)
"""


@dataclass(slots=True, kw_only=True)
class Row:
    """An event that is ready to be stored: scrubbed, cut, with its id."""

    event_id: str
    kind: str
    text: str
    """As it will be stored."""
    raw: bytes
    """`text` in UTF-8."""
    size: int
    """Bytes of the whole scrubbed text, of which `text` may be a stub."""
    tag: bytes
    at: int
    context: int
    role: str | None = None
    call_id: str | None = None
    tool: str | None = None
    tool_input: str | None = None
    exit_code: int | None = None
    status: str | None = None
    turn: str | None = None
    meta: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Who brought the rows in: the columns that all rows of a call share."""

    harness: str | None
    """Harness entry; None for our own events."""
    session: int | None
    run: str | None
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """Where the rows went: both numbers count up by one for each row."""

    first_eid: int
    first_seq: int
    head_seq: int


def append(store: Store, workstream: int, rows: Sequence[Row], author: Author) -> Appended:
    """Append rows in order, with their bodies and index entries.

    Must run inside `store.transaction()`. Raises UnavailableError for an unknown workstream and
    sqlite3.IntegrityError when an event id is there already.
    """
    head = store.one("SELECT head_seq, chain FROM workstream WHERE id = ?", workstream)
    if head is None:
        raise UnavailableError(f"there is no workstream {workstream}")
    seq, chain = int(head["head_seq"]), bytes(head["chain"])
    newest = store.one("SELECT max(eid) FROM event")
    eid = (newest[0] if newest is not None and newest[0] is not None else 0) + 1
    done = Appended(first_eid=eid, first_seq=seq + 1, head_seq=seq + len(rows))
    if not rows:
        return done
    now = store.clock.now_ms()
    origin = str(author.origin)  # an enum's member would be adapted anew for each row
    salts = os.urandom(_SALT * len(rows))
    events, bodies, index = [], [], []
    for number, row in enumerate(rows):
        seq += 1
        salt = salts[number * _SALT : (number + 1) * _SALT]
        digest = content.digest(
            salt, content.canonical(row.raw, row.tool, row.tool_input, row.exit_code)
        )
        chain = content.link(chain, seq, row.event_id, digest)
        codec, data = content.encode_body(row.raw)
        events.append(
            (
                *(eid, workstream, seq, row.event_id, row.kind, row.role),
                *(author.harness, author.session, row.call_id, row.tool, row.exit_code),
                *(row.status, row.at, now, row.turn, row.context, author.run),
                *(origin, SCRUB_VERSION, digest, chain, row.meta),
            )
        )
        bodies.append((eid, salt, codec, data, row.size, row.tool_input, row.tag))
        index.append((eid, workstream, row.kind, row.text, row.tool, row.tool_input))
        eid += 1
    store.db.executemany(_EVENT, events)
    store.db.executemany(_BODY, bodies)
    index_rows(store, index)
    store.db.execute(
        "UPDATE workstream SET head_seq = ?, chain = ? WHERE id = ?", (seq, chain, workstream)
    )
    return done

"""Checking the ledger: what can be derived again is derived again and compared.

Reads only (the index check of a writable store excepted, which changes nothing either), streams the
log, and goes on after a finding: every finding says where, what, and what to do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ledger import content, index
from ledger.errors import StateError
from ledger.model import Workstream, workstream_id

if TYPE_CHECKING:
    from ledger.store import Store

MOST: Final = 100
"""Findings of one code and workstream that are listed; the rest is counted in the last one."""

_RESTORE: Final = "Put a backup back: workstream restore FILE"
_REIMPORT: Final = (
    "What native stores still hold can be read again: restore a backup, or forget the event and"
    " import the session into another workstream."
)

_ORPHANS: Final = (
    (
        "membership_without_event",
        "session {0}, event row {1}",
        (
            "SELECT session, eid FROM membership"
            " WHERE NOT EXISTS (SELECT 1 FROM event WHERE event.eid = membership.eid)"
        ),
    ),
    (
        "membership_without_session",
        "session {0}, event row {1}",
        (
            "SELECT session, eid FROM membership"
            " WHERE NOT EXISTS (SELECT 1 FROM session WHERE session.id = membership.session)"
        ),
    ),
    (
        "cursor_without_session",
        "session {0}",
        (
            "SELECT session FROM cursor"
            " WHERE NOT EXISTS (SELECT 1 FROM session WHERE session.id = cursor.session)"
        ),
    ),
    (
        "delivery_without_briefing",
        "delivery {0}",
        (
            "SELECT id FROM delivery"
            " WHERE NOT EXISTS (SELECT 1 FROM briefing WHERE briefing.id = delivery.briefing)"
        ),
    ),
    (
        "forget_unfinished",
        "event row {0}",
        (
            "SELECT event.eid FROM event CROSS JOIN tombstone"
            " ON tombstone.scope = 'event' AND tombstone.key = event.event_id"
            " JOIN body ON body.eid = event.eid"
            " WHERE EXISTS (SELECT 1 FROM tombstone)"
        ),
    ),
    (
        "branch_state",
        "session {0}, event row {1}",
        (
            "SELECT membership.session, membership.eid FROM"
            " (SELECT session, eid, state, max(id) FROM branch_mark GROUP BY session, eid) AS mark"
            " JOIN membership ON membership.session = mark.session AND membership.eid = mark.eid"
            " WHERE membership.active <> (mark.state = 'active')"
        ),
    ),
)

_FIXES: Final = {
    "branch_state": "Nothing is lost by it; please report it as a bug of workstream.",
    "forget_unfinished": "A forget was cut off. Do it again: it goes on where it stopped.",
}

_EVENTS: Final = """
    SELECT event.seq, event.event_id, event.tool, event.exit_code, event.content_digest,
        event.chain, body.salt, body.codec, body.data, body.tool_input
    FROM event LEFT JOIN body ON body.eid = event.eid
    WHERE event.workstream = ? ORDER BY event.seq
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is not as it must be."""

    code: str
    where: str
    detail: str
    fix: str


def verify(
    store: Store,
    workstream: Workstream | int | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Return what is wrong; an empty list means that everything was derived again and agrees.

    The file as a whole is always checked, the log of one workstream or of all. `progress` is
    called with (events done, events in all).
    """
    try:
        findings = list(_file(store))
        if any(finding.code == "database" for finding in findings):
            return findings
        findings += _index(store)
        findings += _orphans(store)
        findings += _logs(store, workstream, progress)
    except sqlite3.DatabaseError as error:
        findings = [_unreadable(store, str(error))]
    except StateError as error:
        findings = [_unreadable(store, error.detail or error.message)]
    return findings


def _unreadable(store: Store, detail: str) -> Finding:
    return Finding(code="database", where=str(store.path), detail=detail, fix=_RESTORE)


def _file(store: Store) -> Iterator[Finding]:
    for (message,) in store.db.execute(f"PRAGMA quick_check({MOST})"):
        if message != "ok":
            yield _unreadable(store, str(message))
    for table, row, parent, _ in store.db.execute("PRAGMA foreign_key_check"):
        yield Finding(
            code="foreign_key",
            where=f"{table} row {row}",
            detail=f"refers to a row of {parent} that is not there",
            fix=_RESTORE,
        )


def _index(store: Store) -> Iterator[Finding]:
    wrong = index.check(store)
    if wrong is not None:
        yield Finding(code="search_index", where="search", detail=wrong, fix=index.REBUILD_HINT)


def _orphans(store: Store) -> Iterator[Finding]:
    for code, where, sql in _ORPHANS:
        for row in store.db.execute(f"{sql} LIMIT {MOST}"):
            yield Finding(
                code=code,
                where=where.format(*row),
                detail=code.replace("_", " "),
                fix=_FIXES.get(code, _RESTORE),
            )


def _logs(
    store: Store,
    workstream: Workstream | int | None,
    progress: Callable[[int, int], None] | None,
) -> Iterator[Finding]:
    if workstream is None:
        rows = store.all("SELECT id, name, head_seq, chain FROM workstream ORDER BY id")
    else:
        rows = store.all(
            "SELECT id, name, head_seq, chain FROM workstream WHERE id = ?",
            workstream_id(workstream),
        )
    total = sum(row["head_seq"] for row in rows)
    done = 0
    for row in rows:
        counts: dict[str, int] = {}

        def step(number: int, before: int = done) -> None:
            if progress is not None:
                progress(before + number, total)

        for finding in _log(store, row, step):
            counts[finding.code] = counts.get(finding.code, 0) + 1
            if counts[finding.code] <= MOST:
                yield finding
        for code, count in counts.items():
            if count > MOST:
                more = f"{count - MOST} more of these"
                yield Finding(code=code, where=row["name"], detail=more, fix=_RESTORE)
        done += row["head_seq"]


def _log(store: Store, workstream: sqlite3.Row, step: Callable[[int], None]) -> Iterator[Finding]:
    """Derive sequence, chain and digests of one workstream again."""
    name = workstream["name"]
    chain, expected = content.CHAIN_START, 1
    for row in store.db.execute(_EVENTS, (workstream["id"],)):
        seq = row["seq"]
        where = f"{name} e{seq}"
        if seq != expected:
            missing = f"e{expected}" if seq == expected + 1 else f"e{expected} to e{seq - 1}"
            yield Finding(
                code="sequence", where=name, detail=f"{missing} is not there", fix=_RESTORE
            )
        if content.link(chain, seq, row["event_id"], row["content_digest"]) != row["chain"]:
            yield Finding(
                code="chain",
                where=where,
                detail="its chain value does not follow from the event before it",
                fix=_RESTORE,
            )
        wrong = _content(store, row)
        if wrong is not None:
            yield Finding(code=wrong[0], where=where, detail=wrong[1], fix=_REIMPORT)
        chain, expected = row["chain"], seq + 1
        if seq % 1000 == 0:
            step(seq)
    step(expected - 1)
    if workstream["head_seq"] != expected - 1 or bytes(workstream["chain"]) != bytes(chain):
        yield Finding(
            code="head",
            where=name,
            detail=f"the head says e{workstream['head_seq']}, the log ends with e{expected - 1}"
            if workstream["head_seq"] != expected - 1
            else "the chain value of the head is not that of the newest event",
            fix=_RESTORE,
        )


def _content(store: Store, row: sqlite3.Row) -> tuple[str, str] | None:
    if row["salt"] is None:
        gone = store.db.execute(
            "SELECT 1 FROM tombstone WHERE scope = 'event' AND key = ?", (row["event_id"],)
        ).fetchone()
        return None if gone else ("body_missing", "its text is gone and nobody asked for that")
    try:
        text = content.decode_body(row["codec"], row["data"])
    except ValueError as error:
        return "body_unreadable", str(error)
    canonical = content.canonical(text, row["tool"], row["tool_input"], row["exit_code"])
    if content.digest(row["salt"], canonical) != row["content_digest"]:
        return "digest", "its content is not what was stored at import"
    return None

"""Receipts found in native stores: lines that our own commands printed inside a harness.

The import stores them, the end of their run applies them; one line counts once. A line that another
call printed again is kept too: by then its run may be over, which is to be told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ledger.model import ReceiptRow, Workstream, workstream_id

if TYPE_CHECKING:
    from ledger.incoming import NewReceipt
    from ledger.model import SessionRow
    from ledger.store import Store


def digest(line: str, call_id: str | None = None) -> str:
    """Return the digest that a receipt line is known by; with a call, what repeats it there."""
    known_by = line if call_id is None else f"{line}\n{call_id}"
    return hashlib.sha256(known_by.encode("utf-8", "surrogatepass")).hexdigest()


def keep(store: Store, session: SessionRow, items: Iterable[NewReceipt]) -> int:
    """Store receipts of a session that are new; return how many. Inside a transaction.

    Those of one call get ascending times, so that they are applied in their order.
    """
    new = 0
    now = store.clock.now_ms()
    for number, item in enumerate(items):
        name = digest(item.line)
        known = store.one("SELECT call_id FROM receipt WHERE digest = ?", name)
        if known is not None and known["call_id"] != item.call_id:
            name = digest(item.line, item.call_id)
        done = store.db.execute(
            "INSERT OR IGNORE INTO receipt (digest, workstream, session, call_id, line, found_at)"
            " VALUES (?,?,?,?,?,?)",
            (name, session.workstream, session.id, item.call_id, item.line, now + number),
        )
        new += done.rowcount
    return new


def pending(store: Store, workstream: Workstream | int) -> list[ReceiptRow]:
    """Return the receipts of a workstream that were neither applied nor refused, oldest first."""
    rows = store.all(
        "SELECT * FROM receipt WHERE workstream = ? AND applied_at IS NULL AND refused IS NULL"
        " ORDER BY found_at, digest",
        workstream_id(workstream),
    )
    return [ReceiptRow(**{name: row[name] for name in ReceiptRow._fields}) for row in rows]


def is_applied(store: Store, row: ReceiptRow) -> bool:
    """Tell whether the same line was applied already, printed by another call."""
    sql = "SELECT 1 FROM receipt WHERE digest = ? AND applied_at IS NOT NULL"
    return store.one(sql, digest(row.line)) is not None


def applied(store: Store, receipt: str, refused: str | None = None) -> None:
    """Note that a receipt was applied, or why it was not; it is not pending any more."""
    with store.transaction() as db:
        db.execute(
            "UPDATE receipt SET applied_at = ?, refused = ? WHERE digest = ?",
            (None if refused is not None else store.clock.now_ms(), refused, receipt),
        )

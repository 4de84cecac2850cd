"""Receipts found in native stores: lines that our own commands printed inside a harness.

The import stores them, the end of their run applies them; one line counts once.
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


def digest(line: str) -> str:
    """Return the digest that a receipt line is known by."""
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


def keep(store: Store, session: SessionRow, items: Iterable[NewReceipt]) -> int:
    """Store receipts of a session that are new; return how many. Inside a transaction.

    Those of one call get ascending times, so that they are applied in their order.
    """
    new = 0
    now = store.clock.now_ms()
    for number, item in enumerate(items):
        done = store.db.execute(
            "INSERT OR IGNORE INTO receipt (digest, workstream, session, call_id, line, found_at)"
            " VALUES (?,?,?,?,?,?)",
            (
                *(digest(item.line), session.workstream, session.id, item.call_id, item.line),
                now + number,
            ),
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


def applied(store: Store, receipt: str, refused: str | None = None) -> None:
    """Note that a receipt was applied, or why it was not; it is not pending any more."""
    with store.transaction() as db:
        db.execute(
            "UPDATE receipt SET applied_at = ?, refused = ? WHERE digest = ?",
            (None if refused is not None else store.clock.now_ms(), refused, receipt),
        )

"""Receipts as they stand: the one of a key, the one that counts for a target.

Only reading, and little is imported: every launch asks what still waits for an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoffs.models import ReceiptStatus
from handoffs.store import rows
from handoffs.store.rows import StoredReceipt
from ledger.model import Workstream, workstream_id

if TYPE_CHECKING:
    from ledger.store import Store


def by_key(store: Store, workstream: Workstream | int, key: str) -> StoredReceipt | None:
    """Return the receipt of a key, or None."""
    row = store.one(
        "SELECT * FROM handoff_receipt WHERE workstream = ? AND receipt_key = ?",
        workstream_id(workstream),
        key,
    )
    return None if row is None else rows.receipt(row)


def last_receipt(store: Store, workstream: Workstream | int, digest: str) -> StoredReceipt | None:
    """Return the receipt of a target that counts: its last one."""
    row = store.one(
        "SELECT * FROM handoff_receipt WHERE workstream = ? AND target_digest = ?"
        " ORDER BY id DESC LIMIT 1",
        workstream_id(workstream),
        digest,
    )
    return None if row is None else rows.receipt(row)


def standing(
    store: Store, workstream: Workstream | int, digest: str
) -> tuple[str, ReceiptStatus] | None:
    """Return (key, status) of the receipt that counts for a target, or None.

    Little of the row is read, so that a damaged one hides nothing else.
    """
    row = store.one(
        "SELECT receipt_key, status FROM handoff_receipt WHERE workstream = ?"
        " AND target_digest = ? ORDER BY id DESC LIMIT 1",
        workstream_id(workstream),
        digest,
    )
    return None if row is None else (row["receipt_key"], ReceiptStatus(row["status"]))


def answered(store: Store, workstream: Workstream | int, digest: str) -> bool:
    """Tell whether a target has any receipt, readable or not."""
    sql = "SELECT 1 FROM handoff_receipt WHERE workstream = ? AND target_digest = ? LIMIT 1"
    return store.one(sql, workstream_id(workstream), digest) is not None


def active_receipt(store: Store, workstream: Workstream | int, digest: str) -> StoredReceipt | None:
    """Return the accepted receipt under which a target is worked on, or None."""
    last = standing(store, workstream, digest)
    if last is None or last[1] is not ReceiptStatus.ACCEPTED:
        return None
    return by_key(store, workstream, last[0])


def receipts_of(store: Store, workstream: Workstream | int, digest: str) -> list[StoredReceipt]:
    """Return all receipts of a target, oldest first."""
    found = store.all(
        "SELECT * FROM handoff_receipt WHERE workstream = ? AND target_digest = ? ORDER BY id",
        workstream_id(workstream),
        digest,
    )
    return [rows.receipt(row) for row in found]


def newest(store: Store, workstream: Workstream | int) -> StoredReceipt | None:
    """Return the newest receipt of a workstream, whatever its target, or None."""
    row = store.one(
        "SELECT * FROM handoff_receipt WHERE workstream = ? ORDER BY id DESC LIMIT 1",
        workstream_id(workstream),
    )
    return None if row is None else rows.receipt(row)


def returned_in(store: Store, run: str) -> list[StoredReceipt]:
    """Return the receipts of a run that give a handoff back, oldest first."""
    found = store.all(
        "SELECT * FROM handoff_receipt WHERE run = ? AND status <> 'accepted' ORDER BY id", run
    )
    return [rows.receipt(row) for row in found]

"""Provider limits that were seen in native sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ledger.model import RunRow, Workstream, run_id, workstream_id

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store


class LimitDocument(TypedDict):
    """A provider limit, JSON-ready; times in milliseconds since the epoch."""

    entry: str
    message: str
    observed_at: int
    resets_at: int | None
    run: str | None


def latest_of_run(store: Store, run: RunRow | str) -> LimitDocument | None:
    """Return the last limit that was met in a run, or None."""
    return _document(
        store.one(
            "SELECT * FROM provider_limit WHERE run = ? ORDER BY observed_at DESC LIMIT 1",
            run_id(run),
        )
    )


def latest(store: Store, workstream: Workstream | int) -> LimitDocument | None:
    """Return the last limit that was met on a workstream, or None."""
    return _document(
        store.one(
            "SELECT * FROM provider_limit WHERE workstream = ? ORDER BY observed_at DESC LIMIT 1",
            workstream_id(workstream),
        )
    )


def _document(row: sqlite3.Row | None) -> LimitDocument | None:
    if row is None:
        return None
    return LimitDocument(
        entry=row["entry"],
        message=row["message"],
        observed_at=row["observed_at"],
        resets_at=row["resets_at"],
        run=row["run"],
    )

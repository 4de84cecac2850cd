"""Facts about the ledger as a whole, cheap to get: for `doctor`.

Nothing here grows with the number of events: counts come from heads, from the search index and
from small tables. Checking what is stored is `ledger/verify.py`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ledger import index
from ledger.model import EventKind
from ledger.store import translated

if TYPE_CHECKING:
    from ledger.store import Store

QUICK_PAGES: Final = 4096
"""Pages (16 MiB) up to which the file is checked as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedRun:
    """A run that is not closed; it may be alive."""

    run: str
    workstream: int
    name: str
    entry: str
    step: str
    started_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The ledger in numbers."""

    journal_mode: str
    page_size: int
    pages: int
    free_pages: int
    damage: str | None
    """What a check of a small file found; None: nothing, or the file is too large for it."""
    workstreams: int
    events: int
    losses: Mapping[str, int] | None
    """Losses that were recorded at import, by reason; None while the index is damaged."""
    unknown_kinds: Mapping[str, int]
    """Native records that no reader of ours knows, by harness and kind."""
    sessions: int
    missing: int
    """Linked sessions that are gone from their native store."""
    unreadable: tuple[str, ...]
    """`harness native id: why` of linked sessions that cannot be read."""
    unfinished: tuple[UnfinishedRun, ...]
    backups: tuple[tuple[str, int], ...]
    """Path and time of every backup that was noted, newest first."""
    index: str | None
    """State of the search index; None: in order."""


def look(store: Store) -> Health:
    """Return the facts. Raises StateError and its kin when they cannot be read."""
    with translated(store.path):
        return _look(store)


def schema_version(store: Store) -> int:
    """Return the schema version that the database carries."""
    with translated(store.path):
        return int(store.db.execute("PRAGMA user_version").fetchone()[0])


def _look(store: Store) -> Health:
    db = store.db
    pages = _number(db, "PRAGMA page_count")
    return Health(
        journal_mode=str(db.execute("PRAGMA journal_mode").fetchone()[0]),
        page_size=_number(db, "PRAGMA page_size"),
        pages=pages,
        free_pages=_number(db, "PRAGMA freelist_count"),
        damage=_damage(db) if pages <= QUICK_PAGES else None,
        workstreams=_number(db, "SELECT count(*) FROM workstream"),
        events=_number(db, "SELECT coalesce(sum(head_seq), 0) FROM workstream"),
        losses=_losses(store),
        unknown_kinds=_unknown(db),
        sessions=_number(db, "SELECT count(*) FROM session"),
        missing=_number(
            db,
            "SELECT count(*) FROM session WHERE state = 'missing'"
            " AND coalesce(state_detail, '') <> 'forgotten'",
        ),
        unreadable=tuple(
            f"{harness} {native}: {detail or 'unreadable'}"
            for harness, native, detail in db.execute(
                "SELECT entry, native_id, state_detail FROM session WHERE state = 'unreadable'"
                " ORDER BY id"
            )
        ),
        unfinished=_unfinished(db),
        backups=tuple(
            (str(path), int(at))
            for path, at in db.execute(
                "SELECT path, created_at FROM backup_record ORDER BY created_at DESC"
            )
        ),
        index=index.state(store),
    )


def _number(db: sqlite3.Connection, sql: str) -> int:
    return int(db.execute(sql).fetchone()[0])


def _damage(db: sqlite3.Connection) -> str | None:
    found = [str(row[0]) for row in db.execute("PRAGMA quick_check(3)")]
    return None if found == ["ok"] else "; ".join(found)


def _losses(store: Store) -> dict[str, int] | None:
    """Count annotations by reason; the index finds them without reading the log."""
    try:
        rows = store.db.execute(
            "SELECT coalesce(status, 'unknown'), count(*) FROM event WHERE eid IN"
            " (SELECT rowid FROM search WHERE search MATCH ?) GROUP BY 1 ORDER BY 2 DESC, 1",
            (f"scope : {index.kind_token(EventKind.ANNOTATION)}",),
        ).fetchall()
    except sqlite3.DatabaseError as error:
        if not index.is_damage(error):
            raise
        return None
    return {str(reason): int(count) for reason, count in rows}


def _unknown(db: sqlite3.Connection) -> dict[str, int]:
    rows = db.execute(
        "SELECT session.harness || ' ' || substr(left_out.kind, 9), sum(left_out.count)"
        " FROM left_out JOIN session ON session.id = left_out.session"
        " WHERE left_out.kind >= 'unknown:' AND left_out.kind < 'unknown;'"
        " GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return {str(kind): int(count) for kind, count in rows}


def _unfinished(db: sqlite3.Connection) -> tuple[UnfinishedRun, ...]:
    rows = db.execute(
        "SELECT run.id, run.workstream, workstream.name, run.entry, run.step, run.started_at"
        " FROM run JOIN workstream ON workstream.id = run.workstream"
        " WHERE run.closed_at IS NULL ORDER BY run.started_at, run.id"
    )
    return tuple(
        UnfinishedRun(
            run=run,
            workstream=workstream,
            name=name,
            entry=entry,
            step=step,
            started_at=started,
        )
        for run, workstream, name, entry, step, started in rows
    )

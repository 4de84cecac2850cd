"""Bringing an older database to the current schema, one named step after another.

Each step is atomic with its own record in `_sqlite_migrations` (kept by sqlite-utils), and
`PRAGMA user_version` is set in the same transaction. A copy of the database is taken before the
first step on a database that holds anything.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from sqlite_utils import Database, Migrations

from ledger.schema import DDL, SCHEMA_VERSION

if TYPE_CHECKING:
    from ledger.store import Store

migrations = Migrations("workstream")


@migrations()
def create_ledger(db: Database) -> None:
    """Version 1: the whole schema and the identity of this store."""
    for statement in DDL:
        db.conn.execute(statement)
    db.conn.executemany(
        "INSERT INTO store_meta (key, value) VALUES (?, ?)",
        [("store_id", secrets.token_hex(16)), ("tag_key", secrets.token_bytes(32))],
    )
    db.conn.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def migrate(store: Store, version: int) -> None:
    """Apply what is missing; safe when several processes do it at once.

    `version` is what the caller saw. A database that holds something is copied to
    `before-schema-<version>.db` first. Raises the errors of `ledger/store.py`.
    """
    from ledger.store import translated

    with _guard(store.home / "migrate.lock"), translated(store.path):
        current = int(store.db.execute("PRAGMA user_version").fetchone()[0])
        if current == SCHEMA_VERSION:
            return
        if version:
            _snapshot(store, store.home / f"before-schema-{version}.db")
        migrations.apply(Database(store.db))


def _snapshot(store: Store, path: Path) -> None:
    import sqlite3

    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.close(fd)
    target = sqlite3.connect(path)
    try:
        store.db.backup(target)
    finally:
        target.close()


class _guard:  # noqa: N801  (reads as a statement)
    """An exclusive flock for the length of a block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1

    def __enter__(self) -> None:
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

"""Reading another program's SQLite database without leaving a trace beside it.

A database in WAL mode cannot simply be opened for reading: SQLite creates `-shm` and takes locks
there, and with `immutable=1` it does not see what only the `-wal` file holds. So: without a WAL, or
with an empty one, the file itself is opened as immutable, and whether it changed meanwhile is
checked at the end; with one, database and WAL are copied into a private folder, which is unlinked
as soon as the copy is open. Either way the store is only ever opened with `O_RDONLY`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from importers import files
from importers.base import StoreUnreadable

ATTEMPTS: Final = 5
"""Copies that are tried while the other program checkpoints or replaces the database."""
HEADER: Final = 32
"""Bytes of a WAL's header: it changes when the log starts over."""


class ChangedMeanwhile(StoreUnreadable):
    """What was read may mix two states of the database; read it again."""


def signature(path: Path) -> str:
    """Return a `Source.signature` for every session of a database."""
    return files.signature([path, wal_of(path)])


def wal_of(path: Path) -> Path:
    """Return the path of a database's write-ahead log; it may not exist."""
    return path.with_name(path.name + "-wal")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading in one consistent state; rows are `sqlite3.Row`.

    Raises StoreUnreadable, also for errors of SQLite inside the block, and ChangedMeanwhile at the
    end of the block if the file was written while it was read.
    """
    descriptor, _ = files.open_regular(path)
    os.close(descriptor)
    try:
        if _logged(path):
            with contextlib.closing(_copied(path)) as db:
                yield db
            return
        before = signature(path)
        with contextlib.closing(_connected(path, "mode=ro&immutable=1")) as db:
            yield db
        if signature(path) != before:
            raise ChangedMeanwhile(f"{path}: it was written while it was read")
    except sqlite3.Error as error:
        raise StoreUnreadable(f"{path}: {error}") from error


def _logged(path: Path) -> bool:
    """Return whether the write-ahead log holds anything."""
    try:
        return wal_of(path).stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreUnreadable(f"{wal_of(path)}: {error.strerror}") from error


def _copied(path: Path) -> sqlite3.Connection:
    """Return a connection to a private copy that nobody else can open any more."""
    for _ in range(ATTEMPTS):
        folder = Path(tempfile.mkdtemp(prefix="workstream-"))
        try:
            copy = folder / "rows.db"
            before = _state(path)
            _copy(path, copy)
            with contextlib.suppress(FileNotFoundError):
                _copy(wal_of(path), wal_of(copy))
            if _state(path) != before:
                continue
            return _connected(copy, "mode=rw")
        except OSError as error:
            raise StoreUnreadable(f"{path}: {error.strerror}") from error
        finally:
            shutil.rmtree(folder)
    raise ChangedMeanwhile(f"{path}: it is being written all the time")


def _state(path: Path) -> tuple[str, bytes]:
    """Return what changes when a copy may mix states: the database's file, the log's header.

    Frames that are appended to the log meanwhile do no harm: an incomplete one at the end of the
    copy does not count.
    """
    try:
        with wal_of(path).open("rb") as file:
            header = file.read(HEADER)
    except FileNotFoundError:
        header = b""
    return files.signature([path]), header


def _copy(path: Path, to: Path) -> None:
    target = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with path.open("rb") as source, os.fdopen(target, "wb") as file:
        shutil.copyfileobj(source, file, 1024 * 1024)


def _connected(path: Path, how: str) -> sqlite3.Connection:
    db = sqlite3.connect(f"file:{quote(str(path))}?{how}", uri=True)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA query_only = 1")
    db.execute("PRAGMA temp_store = MEMORY")
    db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log as well
    return db

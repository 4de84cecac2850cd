"""Copies of the ledger, and putting one back.

The invariants this module protects: a backup is one file that is whole or not there; a restore
never destroys the ledger it replaces, never mixes the journal of one database with another, and
never brings back what was forgotten since.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from ledger.errors import (
    BadDataError,
    BusyError,
    StateError,
    StateNewerError,
    UnavailableError,
    UsageError,
)
from ledger.schema import APPLICATION_ID, SCHEMA_VERSION
from ledger.store import DATABASE, open_store, prepare_home, translated

if TYPE_CHECKING:
    from ledger.store import Store

BEFORE_RESTORE: Final = f"{DATABASE}.before-restore-"
_PAGES: Final = 2048
_JOURNALS: Final = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """A copy that was made and checked."""

    path: Path
    bytes: int
    events: int
    created_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """What the replaced ledger had of one workstream and the restored one has not."""

    name: str
    events: int
    """Events newer than the backup. Those of linked sessions come back with the next import."""
    runs: int
    sessions: tuple[str, ...]
    """`harness:native id` of sessions linked since: to be adopted or imported again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """A restore that was done."""

    path: Path
    kept: Path | None
    """The ledger that was replaced; None when there was none."""
    behind: tuple[Behind, ...]
    forgotten: int
    """Events of the backup that were forgotten since it was made, and so were taken out."""
    other_store: bool
    """The backup is of another ledger than the one it replaced."""
    compared: bool
    """Whether the replaced ledger could be read, so that `behind` means something."""


def backup(
    store: Store,
    path: Path,
    *,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Backup:
    """Write a copy of the ledger to `path` (0600) while runs and imports go on; check it.

    An existing file is refused with UsageError unless `force`. The file appears under its name only
    when it is whole. Where the store is writable, the copy is noted, so that `forget` can name it.
    """
    path = path.expanduser().absolute()
    if not force and (path.exists() or path.is_symlink()):
        raise UsageError(f"{path} is there already", next_step="Name another file, or use --force.")
    if path.exists() and path.samefile(store.path):
        raise UsageError(f"{path} is the ledger itself", next_step="Name another file.")
    created = store.clock.now_ms()
    with _scratch(path) as scratch:
        head = _copy(store.db, scratch, progress)
        _sync(scratch)
        size = scratch.stat().st_size
        _put(scratch, path)
    if store.writable:
        with store.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO backup_record (path, created_at, head) VALUES (?,?,?)",
                (str(path), created, json.dumps(head)),
            )
    return Backup(path=path, bytes=size, events=sum(head.values()), created_at=created)


def restore(home: Path, path: Path, *, force: bool = False) -> Restored:
    """Put a backup in the place of the ledger of `home`.

    The present ledger stays beside it as `workstream.db.before-restore-<time>`. Tombstones of the
    present ledger are carried over and applied. Refuses a file that is not a ledger (BadDataError)
    or is of a newer schema (StateNewerError). While a run is live, or another process has the
    ledger open, it raises BusyError; `force` goes on all the same: what such a process writes later
    goes to the kept ledger.
    """
    path = path.expanduser().absolute()
    _check_file(path)
    prepare_home(home)
    present = home / DATABASE
    stage = home / f".restore-{secrets.token_hex(4)}"
    stage.mkdir(mode=0o700)
    try:
        staged = stage / DATABASE
        _copy_file(path, staged)
        with _closed(present, force=force) as before:
            forgotten, behind, other = _prepare(stage, before)
            _settle_journal(staged)
            _sync(staged)
            kept = _swap(home, staged)
    finally:
        for left in stage.iterdir():
            left.unlink()
        stage.rmdir()
    return Restored(
        path=present,
        kept=kept,
        behind=behind,
        forgotten=forgotten,
        other_store=other,
        compared=before is not None,
    )


def check(path: Path) -> None:
    """Raise unless the file is a sound ledger that this program can use; changes nothing.

    UnavailableError when it is not there, BadDataError when it is something else or damaged,
    StateNewerError for a newer schema.
    """
    _check_file(path.expanduser().absolute())


def kept_copies(home: Path) -> list[Path]:
    """Return the older ledgers that restores and migrations left in the state directory."""
    return sorted([*home.glob(f"{BEFORE_RESTORE}*"), *home.glob("before-schema-*.db")])


# --- copying --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _scratch(path: Path) -> Iterator[Path]:
    """Give an empty 0600 file beside `path`; whatever is left of it is removed at the end."""
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(fd, 0o600)
        os.close(fd)
        yield scratch
    except OSError as error:
        raise UnavailableError(
            f"cannot write {path}",
            detail=os.strerror(error.errno) if error.errno else str(error),
            next_step="Name a file in a directory that you can write to.",
        ) from error
    finally:
        for suffix in ("", *_JOURNALS):
            scratch.with_name(scratch.name + suffix).unlink(missing_ok=True)


def _copy(
    source: sqlite3.Connection, target: Path, progress: Callable[[int, int], None] | None
) -> dict[str, int]:
    """Copy a database online into a file without journal; return workstream uid -> head_seq."""

    def step(_: int, remaining: int, total: int) -> None:
        if progress is not None:
            progress(total - remaining, total)

    with translated(target), contextlib.closing(_connect(target, "rw")) as copy:
        source.backup(copy, pages=_PAGES, progress=step)
        copy.execute("PRAGMA journal_mode = DELETE")
        _quick_check(copy, target)
        return {
            str(uid): int(seq) for uid, seq in copy.execute("SELECT uid, head_seq FROM workstream")
        }


def _copy_file(source: Path, target: Path) -> None:
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    with translated(source), contextlib.closing(_connect(source, "ro")) as db:
        _copy(db, target, None)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # A file that is no ledger in use has no journal; `immutable` keeps SQLite from making one
    # beside a backup on a medium that is somebody else's.
    still = "&immutable=1" if mode == "ro" and not _has_journal(path) else ""
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}{still}", uri=True, isolation_level=None
    )


def _has_journal(path: Path) -> bool:
    return any(path.with_name(path.name + suffix).exists() for suffix in _JOURNALS)


def _settle_journal(path: Path) -> None:
    """Fold the journal of a closed database into its file."""
    with translated(path), contextlib.closing(_connect(path, "rw")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode = DELETE")


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _put(scratch: Path, path: Path) -> None:
    scratch.replace(path)
    _sync(path.parent)


# --- checking a file ------------------------------------------------------------------------------


def _check_file(path: Path) -> None:
    """Raise unless the file is a sound ledger that this program can use."""
    if not path.is_file():
        raise UnavailableError(f"there is no file {path}")
    try:
        with contextlib.closing(_connect(path, "ro")) as db:
            application = db.execute("PRAGMA application_id").fetchone()[0]
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if application != APPLICATION_ID or not version:
                raise _not_ours(path, "it is another program's database")
            if version > SCHEMA_VERSION:
                raise StateNewerError(
                    f"{path} was written by a newer workstream (schema {version}, this program"
                    f" knows {SCHEMA_VERSION})",
                    next_step="Update this program first.",
                )
            _quick_check(db, path)
            db.execute("SELECT uid, head_seq FROM workstream").fetchone()
    except sqlite3.DatabaseError as error:
        raise _not_ours(path, str(error)) from error


def _not_ours(path: Path, detail: str) -> BadDataError:
    return BadDataError(
        f"{path} is not a ledger of workstream",
        detail=detail,
        next_step="Name a file that `workstream backup` wrote.",
    )


def _quick_check(db: sqlite3.Connection, path: Path) -> None:
    found = [row[0] for row in db.execute("PRAGMA quick_check(3)")]
    if found != ["ok"]:
        raise BadDataError(
            f"the copy {path} is damaged",
            detail="; ".join(str(line) for line in found),
            next_step="Check the ledger with: workstream verify",
        )


# --- putting back ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _closed(present: Path, *, force: bool) -> Iterator[sqlite3.Connection | None]:
    """Hold the present ledger alone, its journal folded in; None when there is none to be read.

    SQLite gives up WAL mode only while no other connection is open: that is the proof.
    """
    if not present.exists():
        yield None
        return
    db = sqlite3.connect(present, isolation_level=None, timeout=2)
    try:
        try:
            db.execute("PRAGMA foreign_keys").fetchone()
            live = _live(db)
            if live and not force:
                raise BusyError(
                    f"a run is going on in the workstream {live[0]!r}",
                    next_step="End it first (workstream stop), or use --force.",
                )
            alone = db.execute("PRAGMA journal_mode = DELETE").fetchone()[0] == "delete"
            if alone:
                db.execute("BEGIN EXCLUSIVE")
        except sqlite3.DatabaseError as error:
            if not str(error).startswith("database is locked"):
                # Damaged, or no ledger at all: nothing to be compared with or protected.
                db.close()
                yield None
                return
            alone = False
        if not alone and not force:
            raise BusyError(
                f"another process has the ledger {present} open",
                next_step="End other workstream commands and runs first, or use --force.",
            )
        yield db
    finally:
        db.close()


def _live(db: sqlite3.Connection) -> list[str]:
    now = time.time_ns() // 1_000_000
    rows = db.execute(
        "SELECT workstream.name FROM lease JOIN workstream ON workstream.id = lease.workstream"
        " WHERE lease.run IS NOT NULL AND lease.expires_at > ?",
        (now,),
    )
    return [str(row[0]) for row in rows]


def _prepare(
    stage: Path, before: sqlite3.Connection | None
) -> tuple[int, tuple[Behind, ...], bool]:
    """Bring the staged copy up to date with what must not be lost; compare it with the present."""
    from ledger.forget import apply_tombstones

    with open_store(stage, "create") as staged:
        if before is None:
            return 0, (), False
        try:
            tombs = before.execute("SELECT scope, key, who, at, why FROM tombstone").fetchall()
            behind = tuple(_behind(staged, before))
            mine = before.execute("SELECT value FROM store_meta WHERE key = 'store_id'").fetchone()
        except sqlite3.DatabaseError as error:
            raise StateError(
                "the present ledger cannot be read, so its list of forgotten events is not known",
                detail=str(error),
                next_step="Move workstream.db away and restore again; events that were forgotten"
                " since the backup will be there again.",
            ) from error
        other = mine is None or str(mine[0]).encode() != staged.meta("store_id")
        return apply_tombstones(staged, [tuple(row) for row in tombs]), behind, other


def _behind(staged: Store, before: sqlite3.Connection) -> Iterator[Behind]:
    rows = before.execute("SELECT id, uid, name, head_seq FROM workstream ORDER BY id").fetchall()
    for number, uid, name, head in rows:
        old = staged.one("SELECT id, head_seq FROM workstream WHERE uid = ?", uid)
        runs = before.execute("SELECT id FROM run WHERE workstream = ?", (number,)).fetchall()
        linked = before.execute(
            "SELECT harness, native_id FROM session WHERE workstream = ?", (number,)
        ).fetchall()
        newer = [
            run for (run,) in runs if staged.one("SELECT 1 FROM run WHERE id = ?", run) is None
        ]
        unknown = tuple(
            f"{harness}:{native}"
            for harness, native in linked
            if staged.one(
                "SELECT 1 FROM session WHERE harness = ? AND native_id = ?", harness, native
            )
            is None
        )
        events = head - (0 if old is None else old["head_seq"])
        if events > 0 or newer or unknown:
            yield Behind(name=name, events=max(events, 0), runs=len(newer), sessions=unknown)


def _swap(home: Path, staged: Path) -> Path | None:
    """Keep the present database under another name and put the staged one in its place.

    The name is never without a database: the old one gets a second name first, then the new one
    replaces it in one step. Journals left by a database that could not be closed go with it.
    """
    present = home / DATABASE
    kept = None
    if present.exists():
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        kept = home / f"{BEFORE_RESTORE}{stamp}"
        number = 1
        while kept.exists():
            number += 1
            kept = home / f"{BEFORE_RESTORE}{stamp}-{number}"
        os.link(present, kept)
    for suffix in _JOURNALS:
        journal = present.with_name(present.name + suffix)
        if journal.exists():
            if kept is None:
                journal.unlink()
            else:
                journal.rename(kept.with_name(kept.name + suffix))
    _put(staged, present)
    return kept

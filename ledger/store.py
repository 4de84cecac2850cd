"""One SQLite file: opening it safely, transactions, and what can go wrong with it.

The invariant this module protects: every connection has the same settings, every write happens in
one `BEGIN IMMEDIATE` transaction that is rolled back as a whole, and every SQLite failure reaches
the caller as an error of `ledger/errors.py` that says what to do.

Files are created 0600 in a 0700 directory whatever the umask. WAL; `synchronous=FULL`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self

from ledger.clock import SYSTEM, Clock
from ledger.errors import (
    BusyError,
    DeniedError,
    StateCorruptError,
    StateError,
    StateFullError,
    StateNewerError,
    UnavailableError,
)
from ledger.schema import SCHEMA_VERSION

DATABASE: Final = "workstream.db"
BUSY_MS: Final = 30_000
"""How long a statement waits for another writer."""
MIN_SQLITE: Final = (3, 37, 0)

NETWORK_FILESYSTEMS: Final = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "fuse.sshfs",
        "lustre",
        "glusterfs",
    }
)


def state_home(env: Mapping[str, str]) -> Path:
    """Return our state directory: `$WORKSTREAM_HOME`, else the platform's user state directory.

    A blank variable counts as unset. The directory may not exist yet.
    """
    given = env.get("WORKSTREAM_HOME", "").strip()
    if given:
        return Path(given).expanduser().absolute()
    base = env.get("XDG_STATE_HOME", "").strip()
    if base and Path(base).is_absolute():
        return Path(base) / "workstream"
    import platformdirs

    return Path(platformdirs.user_state_dir("workstream", appauthor=False))


def prepare_home(home: Path) -> None:
    """Create the state directory 0700 and tighten one that others can enter.

    Raises StateError naming the path and `WORKSTREAM_HOME` when that is not possible, and for a
    network file system, where SQLite's locks cannot be trusted.
    """
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if home.stat().st_mode & 0o077:
            home.chmod(0o700)
    except OSError as error:
        raise _os_error(error, home) from error
    kind = filesystem(home)
    if kind in NETWORK_FILESYSTEMS:
        raise StateError(
            f"the state directory {home} is on a network file system ({kind})",
            next_step="Set WORKSTREAM_HOME to a directory on a local disk.",
        )


def filesystem(path: Path) -> str | None:
    """Return the type of the file system that holds `path`, or None where that is not known."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    best, kind = "", None
    target = os.path.realpath(path)
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


class Store:
    """An open ledger. Not shared between threads; open one for each."""

    def __init__(self, db: sqlite3.Connection, home: Path, *, writable: bool, clock: Clock) -> None:
        self.db = db
        """Autocommit connection with `sqlite3.Row` rows; write through `transaction()`."""
        self.home = home
        self.writable = writable
        self.clock = clock
        self._depth = 0
        self._meta: dict[str, bytes] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.db.close()

    @property
    def path(self) -> Path:
        """The database file."""
        return self.home / DATABASE

    def meta(self, key: str) -> bytes:
        """Return a value of store_meta that exists from creation on: store_id, host_id, tag_key."""
        if key not in self._meta:
            row = self.db.execute("SELECT value FROM store_meta WHERE key = ?", (key,)).fetchone()
            if row is None:
                raise StateCorruptError(
                    f"the ledger {self.path} has no {key}",
                    next_step="Restore a backup: workstream restore FILE",
                )
            value = row[0]
            self._meta[key] = value.encode() if isinstance(value, str) else bytes(value)
        return self._meta[key]

    @property
    def host_id(self) -> str:
        """Random id of this host, kept beside the database (never copied by a backup)."""
        return _host_id(self.home)

    def tag(self, raw: bytes) -> bytes:
        """Return the keyed digest of source content (16 bytes)."""
        import hmac

        return hmac.digest(self.meta("tag_key"), raw, "sha256")[:16]

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in one `BEGIN IMMEDIATE`; commit at its end, roll back on any exception.

        Nested use joins the outer transaction. SQLite errors are raised as our own.
        """
        if self._depth:
            self._depth += 1
            try:
                yield self.db
            finally:
                self._depth -= 1
            return
        with translated(self.path):
            self.db.execute("BEGIN IMMEDIATE")
        self._depth = 1
        try:
            with translated(self.path):
                yield self.db
                self.db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            raise
        finally:
            self._depth = 0

    def require_writable(self) -> None:
        """Find out now whether anything can be written, and raise StateError when it cannot.

        SQLite opens a file that may not be written without a word, and begins transactions on it.
        """
        with self.transaction() as db:
            db.execute("UPDATE workstream SET name = name WHERE id < 0")

    def one(self, sql: str, *values: Any) -> sqlite3.Row | None:  # noqa: ANN401
        """Return the first row of a query, or None."""
        with translated(self.path):
            row: sqlite3.Row | None = self.db.execute(sql, values).fetchone()
        return row

    def all(self, sql: str, *values: Any) -> list[sqlite3.Row]:  # noqa: ANN401
        """Return all rows of a query."""
        with translated(self.path):
            return self.db.execute(sql, values).fetchall()


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's and the operating system's errors inside the block into ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _sqlite_error(error, path) from error


def open_store(
    home: Path,
    mode: Literal["rw", "ro", "create"] = "create",
    *,
    clock: Clock = SYSTEM,
    busy_ms: int = BUSY_MS,
) -> Store:
    """Open the ledger in `home`.

    `create` makes directory and database when missing and migrates an older one; `rw` and `ro` need
    an existing one of the current schema. `ro` uses `mode=ro`, which works from a harness's sandbox
    while a launcher keeps a connection open. Raises StateError and its kin.
    """
    path = home / DATABASE
    if mode == "create":
        prepare_home(home)
        _touch_private(path)
    elif not path.exists():
        raise UnavailableError(
            f"there is no ledger at {path}", next_step="Start one with: workstream run HARNESS"
        )
    uri = f"file:{_uri_path(path)}?mode={'ro' if mode == 'ro' else 'rw'}"
    if mode == "ro" and _at_rest(path):
        uri += "&immutable=1"
    with translated(path):
        db = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=busy_ms / 1000, check_same_thread=False
        )
    try:
        with translated(path):
            _configure(db, writable=mode != "ro")
        store = Store(db, home, writable=mode != "ro", clock=clock)
        _bring_current(store, mode)
    except BaseException:
        db.close()
        raise
    return store


def _at_rest(path: Path) -> bool:
    """Whether a database that we may not write is open nowhere and has no journal to be read.

    Only then may it be read without the shared memory, which could not be created.
    """
    journals = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))
    return not os.access(path.parent, os.W_OK) and not any(p.exists() for p in journals)


def _uri_path(path: Path) -> str:
    """Return a path as it stands in an SQLite URI: only `%`, `?` and `#` mean something there."""
    text = str(path).replace("%", "%25")
    return text.replace("?", "%3f").replace("#", "%23")


def _configure(db: sqlite3.Connection, *, writable: bool) -> None:
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA foreign_keys = ON")
    if writable:
        old = os.umask(0o177)  # -wal and -shm inherit the database's mode; journals need the umask
        try:
            mode = db.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        finally:
            os.umask(old)
        if mode != "wal":
            db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")
    db.execute("PRAGMA cache_size = -16384")


def _bring_current(store: Store, mode: str) -> None:
    with translated(store.path):
        version = int(store.db.execute("PRAGMA user_version").fetchone()[0])
    if version == SCHEMA_VERSION:
        return
    if version > SCHEMA_VERSION:
        raise StateNewerError(
            f"the ledger {store.path} was written by a newer workstream (schema {version},"
            f" this program knows {SCHEMA_VERSION})",
            next_step="Update this program, or use the one that wrote it.",
        )
    if mode != "create":
        raise StateError(
            f"the ledger {store.path} has an older schema ({version})",
            next_step="Bring it up to date, with a copy kept: workstream recover",
        )
    from ledger.migrations import migrate

    migrate(store, version)


def _touch_private(path: Path) -> None:
    """Create the file 0600, or tighten one that is there.

    An existing one is never opened: closing it would drop the locks that another connection of
    this process holds on it.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        _tighten(path)
    except OSError as error:
        raise _os_error(error, path) from error
    else:
        os.close(fd)


def _tighten(path: Path) -> None:
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise _os_error(error, path) from error


def _host_id(home: Path) -> str:
    """Return the id in `host-id`, creating it once (0600, atomic)."""
    path = home / "host-id"
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        pass
    fresh = os.urandom(8).hex()
    scratch = home / f".host-id.{os.getpid()}"
    try:
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="ascii") as file:
            file.write(fresh + "\n")
        with contextlib.suppress(FileExistsError):
            os.link(scratch, path)
        scratch.unlink()
    except OSError as error:
        raise _os_error(error, path) from error
    return path.read_text(encoding="ascii").strip()


def _os_error(error: OSError, path: Path) -> StateError | DeniedError:
    reason = os.strerror(error.errno) if error.errno else str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return StateFullError(
            f"cannot write {path}", detail=reason, next_step="Free some space and run it again."
        )
    return StateError(
        f"cannot use the state directory: {path}",
        detail=reason,
        next_step="Set WORKSTREAM_HOME to a directory you can write to.",
    )


def _sqlite_error(error: sqlite3.DatabaseError, path: Path) -> Exception:
    name = getattr(error, "sqlite_errorname", "") or ""
    text = str(error)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BusyError(
            f"the ledger {path} is locked by another process",
            detail=text,
            next_step="Try again in a moment; `workstream doctor` names who holds it.",
        )
    if name == "SQLITE_FULL" or name in ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC"):
        return StateFullError(
            f"cannot write the ledger {path}",
            detail=text,
            next_step="Free some space; nothing that was committed before is lost.",
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StateCorruptError(
            f"the ledger {path} is damaged",
            detail=text,
            next_step="Check it with `workstream verify`; put a backup back with"
            " `workstream restore FILE`.",
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_IOERR")):
        return StateError(
            f"cannot use the ledger {path}",
            detail=text,
            next_step="Check the permissions of the directory, or set WORKSTREAM_HOME.",
        )
    return error

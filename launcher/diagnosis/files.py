"""The state directory as files: there, writable, private, on what kind of disk, how large."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from launcher.diagnosis.finding import Finding, Level
from launcher.output import plural, size
from ledger.backup import kept_copies
from ledger.store import DATABASE, NETWORK_FILESYSTEMS, filesystem

MOST: Final = 2_000
"""Entries of the state directory that are looked at."""
NAMED: Final = 5
LITTLE: Final = 200_000_000
"""Free bytes below which a warning is due."""
_ELSEWHERE: Final = "Set WORKSTREAM_HOME to a directory on a local disk that you can write to."


def findings(home: Path, unfinished: Sequence[str]) -> Iterator[Finding]:
    """Yield what is to be said of the directory; `unfinished` are ids of runs not yet closed."""
    yield from _directory(home)
    if home.is_dir():
        yield from _private(home)
        yield from _size(home)
        yield from _left_over(home, unfinished)


def _directory(home: Path) -> Iterator[Finding]:
    existing = next(p for p in (home, *home.parents) if p.exists())
    if not existing.is_dir():
        yield Finding(
            code="state_directory",
            level=Level.PROBLEM,
            sentence=f"the state directory {home} cannot be used: {existing} is not a directory",
            fix=_ELSEWHERE,
        )
        return
    if not os.access(existing, os.W_OK | os.X_OK):
        yield Finding(
            code="state_directory",
            level=Level.PROBLEM,
            sentence=f"the state directory {home} cannot be written",
            fix=_ELSEWHERE,
        )
    else:
        there = "" if existing == home else ", made at the first run"
        yield Finding(
            code="state_directory", level=Level.OK, sentence=f"state directory {home}{there}"
        )
    yield _filesystem(home, existing)


def _filesystem(home: Path, existing: Path) -> Finding:
    kind = filesystem(existing)
    if kind is None:
        return Finding(
            code="filesystem",
            level=Level.NOTE,
            sentence="this platform does not tell the type of a file system; a network one would"
            " not be noticed",
        )
    if kind in NETWORK_FILESYSTEMS:
        return Finding(
            code="filesystem",
            level=Level.PROBLEM,
            sentence=f"{home} is on a network file system ({kind}), where locks cannot be trusted",
            fix=_ELSEWHERE,
        )
    return Finding(code="filesystem", level=Level.OK, sentence=f"file system {kind}")


def _private(home: Path) -> Iterator[Finding]:
    open_to_others, foreign, seen = [], [], 0
    for path, info in _entries(home):
        seen += 1
        if not stat.S_ISLNK(info.st_mode) and info.st_mode & 0o077:
            open_to_others.append(path)
        if info.st_uid != os.geteuid():
            foreign.append(path)
    if open_to_others:
        yield Finding(
            code="permissions",
            level=Level.PROBLEM,
            sentence=f"others can get at {_named(open_to_others)}",
            fix=f"chmod -R go= {home}",
        )
    if foreign:
        yield Finding(
            code="owner",
            level=Level.WARNING,
            sentence=f"owned by another user: {_named(foreign)}",
            fix="Use workstream as one user, or give each user a WORKSTREAM_HOME.",
        )
    if not open_to_others and not foreign:
        yield Finding(
            code="permissions",
            level=Level.OK,
            sentence=f"only you can read the state ({plural(seen, 'entry', 'entries')} checked)",
        )


def _size(home: Path) -> Iterator[Finding]:
    try:
        free = os.statvfs(home)
    except OSError:
        return
    available = free.f_bavail * free.f_frsize
    if available < LITTLE:
        yield Finding(
            code="space",
            level=Level.WARNING,
            sentence=f"only {size(available)} are free where the state is ({home})",
            fix="Free some space; without it nothing new can be imported.",
        )
    copies = kept_copies(home)
    if copies:
        total = sum(path.stat().st_size for path in copies)
        yield Finding(
            code="kept_copies",
            level=Level.NOTE,
            sentence=f"{plural(len(copies), 'older ledger')} kept by restores and upgrades,"
            f" {size(total)}: {_named(copies)}",
            fix="Delete them when they are not needed any more.",
        )


def _left_over(home: Path, unfinished: Sequence[str]) -> Iterator[Finding]:
    base = home / "runs"
    known = set(unfinished)
    left = [path for path in _listed(base) if path.name not in known]
    scratch = [path for path in _listed(home) if path.name.startswith(".restore-")]
    if left or scratch:
        found = [*left, *scratch]
        yield Finding(
            code="left_over",
            level=Level.NOTE,
            sentence=f"{plural(len(found), 'folder')} of runs that are finished: {_named(found)}",
            fix="They may be deleted while nothing runs.",
        )


def database_size(home: Path) -> tuple[int, int]:
    """Return the bytes of the database and of its write-ahead log; 0 where there is none."""
    return tuple(  # type: ignore[return-value]  # two names, two numbers
        (home / f"{DATABASE}{suffix}").stat().st_size
        if (home / f"{DATABASE}{suffix}").exists()
        else 0
        for suffix in ("", "-wal")
    )


def _entries(home: Path) -> Iterator[tuple[Path, os.stat_result]]:
    waiting, count = [home], 0
    while waiting and count < MOST:
        path = waiting.pop()
        try:
            info = path.lstat()
        except OSError:
            continue  # gone meanwhile
        count += 1
        yield path, info
        if stat.S_ISDIR(info.st_mode):
            waiting.extend(_listed(path))


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _named(paths: Sequence[Path]) -> str:
    more = len(paths) - NAMED
    text = ", ".join(str(path) for path in paths[:NAMED])
    return text + (f" and {more} more" if more > 0 else "")

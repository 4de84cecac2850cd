"""Who holds a file lock, and who runs: read from /proc, nothing is opened or signalled."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

PROC: Final = Path("/proc")


class Process(NamedTuple):
    """A process as a person would name it; `pid` is None when it is in another namespace."""

    pid: int | None
    name: str
    command: tuple[str, ...] = ()


def lock_holder(path: Path, proc: Path = PROC) -> Process | None:
    """Return the process that holds a lock on a file, without touching the file.

    None when nobody does, when the file is absent, or where /proc/locks does not exist.
    """
    try:
        status = path.stat()
        lines = (proc / "locks").read_text().splitlines()
    except OSError:
        return None
    for pid, device, inode in _locks(lines):
        if inode != status.st_ino:
            continue
        # A layered filesystem shows another device in /proc/locks than stat does.
        if device == (os.major(status.st_dev), os.minor(status.st_dev)) or _holds(pid, path, proc):
            return describe(pid, proc)
    return None


def describe(pid: int, proc: Path = PROC) -> Process:
    """Return what /proc tells about a process."""
    if pid <= 0:
        return Process(pid=None, name="a process outside this container")
    try:
        name = (proc / str(pid) / "comm").read_text().strip()
        raw = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return Process(pid=pid, name="a process of another user")
    command = tuple(part.decode("utf-8", "replace") for part in raw.split(b"\0") if part)
    return Process(pid=pid, name=name, command=command)


def start_ticks(pid: int, proc: Path = PROC) -> str | None:
    """Return field 22 of /proc/<pid>/stat, which tells two users of one pid apart.

    None for a process that is dead, also when nobody has reaped it yet: the first process of a
    container may never do that.
    """
    try:
        stat = (proc / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in ("Z", "X") else fields[19]


def _locks(lines: list[str]) -> Iterator[tuple[int, tuple[int, int], int]]:
    """Yield pid, device and inode of each lock that is held, not waited for."""
    for line in lines:
        fields = line.split()
        if len(fields) < 6 or fields[1] == "->":
            continue
        major, minor, inode = fields[5].split(":")
        yield int(fields[4]), (int(major, 16), int(minor, 16)), int(inode)


def _holds(pid: int, path: Path, proc: Path) -> bool:
    """Whether a process has the file open, as far as we may look."""
    try:
        entries = list((proc / str(pid) / "fd").iterdir())
        return any(os.path.realpath(entry) == os.path.realpath(path) for entry in entries)
    except OSError:
        return False

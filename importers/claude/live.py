"""Claude Code's registry of running processes, as files: who says to be on which session.

`sessions/<pid>.json` is written at the start, follows `/clear`, `/branch` and `/cd`, and is
removed at a clean exit (observed with Claude Code 2.1.197). A killed process leaves its file
behind: whoever reads this compares pid and start time with the running processes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from importers.base import StoreUnreadable
from importers.files import open_regular

FOLDER: Final = "sessions"
MAX_SIZE: Final = 64 * 1024


class LiveSession(NamedTuple):
    """One entry of the registry; nothing says that the process still lives."""

    pid: int
    proc_start: int | None
    """Start time in clock ticks since boot: field 22 of `/proc/<pid>/stat`."""
    session_id: str
    kind: str | None
    """interactive, bg"""
    cwd: str | None
    status: str | None
    """idle, busy, waiting; None where the version does not say"""


class _Entry(msgspec.Struct, rename="camel"):
    pid: int
    session_id: str
    proc_start: str | int | None = None
    kind: str | None = None
    cwd: str | None = None
    status: str | None = None


_ENTRY: Final = msgspec.json.Decoder(_Entry)


def live_sessions(home: Path) -> list[LiveSession]:
    """Return the registry's entries by pid; unreadable or half-written files are passed over.

    Raises StoreUnreadable if the registry is there and cannot be listed.
    """
    folder = home / FOLDER
    try:
        names = os.listdir(folder)  # noqa: PTH208  (names are enough)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreUnreadable(f"{folder}: {error.strerror}") from error
    found = [_entry(folder / name) for name in names if name.endswith(".json")]
    return sorted(entry for entry in found if entry is not None)


def _entry(path: Path) -> LiveSession | None:
    try:
        descriptor, _ = open_regular(path)
    except StoreUnreadable:
        return None
    try:
        data = os.read(descriptor, MAX_SIZE)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    try:
        entry = _ENTRY.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    start = str(entry.proc_start or "")
    return LiveSession(
        pid=entry.pid,
        proc_start=int(start) if start.isdigit() else None,
        session_id=entry.session_id,
        kind=entry.kind,
        cwd=entry.cwd,
        status=entry.status,
    )

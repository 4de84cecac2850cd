"""Looking at a native store's files: opening for reading only, and telling whether they changed.

Standard library only: the launcher looks a session up with this before every start.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from importers.base import StoreUnreadable


def open_regular(path: Path) -> tuple[int, os.stat_result]:
    """Open for reading only and return (descriptor, status).

    Never blocks, so a FIFO is refused like every other path that is not a regular file. Raises
    StoreUnreadable.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError as error:
        raise StoreUnreadable(f"{path}: {error.strerror}") from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise StoreUnreadable(f"{path}: not a regular file")
    return descriptor, status


def signature(paths: Sequence[Path]) -> str:
    """Return a `Source.signature` for the files; a path that cannot be looked at counts as "-"."""
    parts = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            parts.append("-")
            continue
        parts.append(
            f"{status.st_dev:x}.{status.st_ino:x}.{status.st_size:x}"
            f".{status.st_mtime_ns:x}.{status.st_ctime_ns:x}"
        )
    return ",".join(parts)

"""Finding session files in a store's folders by names and listings; nothing is opened.

For stores that keep one file for each session. "Cannot look" is never "not there": a folder that
cannot be listed makes a missing session unreadable, and an odd entry is yielded with its reason.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from importers.base import Source, StoreState
from importers.files import signature


class Entry(NamedTuple):
    """A path that looks like a session's file."""

    changed: int
    """Nanoseconds."""
    path: str
    native_id: str
    problem: str | None = None
    """Why it cannot be a session: a directory, not a regular file, empty, …"""


Naming = Callable[[str], str | None]
"""File name -> session id; None for a name that is no session's."""


class Listing:
    """The session files of a store: all below some folders, at one depth."""

    def __init__(
        self, harness: str, home: Path, root: Path, naming: Naming, *, depth: int, inner: str = ""
    ) -> None:
        """`depth` folders lie between `root` and the named entry.

        With `inner` that entry is a folder named like the session, and its file is `inner` in it.
        """
        self._harness = harness
        self._home = home
        self._root = root
        self._naming = naming
        self._depth = depth
        self._inner = inner
        self.problems: list[str] = []
        """Folders that could not be listed."""

    def entries(self, native_id: str | None = None) -> list[Entry]:
        """Return what looks like a session, newest first; only that one when an id is given."""
        found = []
        for folder in self._folders(str(self._root), self._depth):
            for name in self._names(folder):
                named = self._naming(name)
                if named is None or native_id not in (None, named):
                    continue
                path = f"{folder}/{name}" + (f"/{self._inner}" if self._inner else "")
                entry = look(path, named, self.problems, inner=bool(self._inner))
                if entry is not None:
                    found.append(entry)
        return sorted(found, reverse=True)

    def locate(self, native_id: str) -> Source:
        """Find a session by its id; of several files the one that was written last."""
        if not native_id or native_id in (".", "..") or "/" in native_id or "\0" in native_id:
            return self._source(native_id, StoreState.MISSING, detail="not a session id")
        found = self.entries(native_id)
        good = next((entry for entry in found if entry.problem is None), None)
        if good is not None:
            return self._source(native_id, StoreState.PRESENT, Path(good.path))
        problems = [f"{entry.path}: {entry.problem}" for entry in found] + self.problems
        if problems:
            return self._source(native_id, StoreState.UNREADABLE, detail="; ".join(problems[:3]))
        return self._source(native_id, StoreState.MISSING)

    def discover(self) -> Iterator[Source]:
        """Yield every session, newest first, then what is odd or could not be listed."""
        seen: set[str] = set()
        odd: list[Entry] = []
        for entry in self.entries():
            if entry.problem is not None:
                odd.append(entry)
            elif entry.native_id not in seen:
                seen.add(entry.native_id)
                yield self._source(entry.native_id, StoreState.PRESENT, Path(entry.path))
        for entry in odd:
            path, detail = Path(entry.path), f"{entry.path}: {entry.problem}"
            yield self._source(entry.native_id, StoreState.UNREADABLE, path, detail)
        for problem in self.problems:
            yield self._source("", StoreState.UNREADABLE, detail=problem)

    def _source(
        self, native_id: str, state: StoreState, path: Path | None = None, detail: str | None = None
    ) -> Source:
        return Source(
            harness=self._harness,
            home=self._home,
            native_id=native_id,
            state=state,
            paths=() if path is None else (path,),
            detail=detail,
            signature="" if path is None else signature([path]),
        )

    def _folders(self, folder: str, depth: int) -> Iterable[str]:
        if depth == 0:
            yield folder
            return
        try:
            with os.scandir(folder) as scan:
                below = sorted(entry.path for entry in scan if _is_folder(entry))
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            self.problems.append(f"{folder}: {error.strerror}")
            return
        for path in below:
            yield from self._folders(path, depth - 1)

    def _names(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)  # noqa: PTH208  (names are enough, and faster)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.problems.append(f"{folder}: {error.strerror}")
            return []


def look(path: str, native_id: str, problems: list[str], *, inner: bool = False) -> Entry | None:
    """Return what a path is; None if there is nothing. Opens nothing, so that nothing blocks.

    `inner`: the path is inside a folder of the session's, where a missing file is not odd.
    """
    try:
        status = os.stat(path)  # noqa: PTH116  (a text is faster, by thousands)
    except FileNotFoundError:
        dangling = os.path.islink(path) and not inner  # noqa: PTH114
        return Entry(0, path, native_id, "dangling link") if dangling else None
    except NotADirectoryError:
        return None
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return None
    problem = None
    if stat.S_ISDIR(status.st_mode):
        problem = "a directory"
    elif not stat.S_ISREG(status.st_mode):
        problem = "not a regular file"
    elif status.st_size == 0:
        problem = "empty"
    elif not os.access(path, os.R_OK):
        problem = "permission denied"
    return Entry(status.st_mtime_ns, path, native_id, problem)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False

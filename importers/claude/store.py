"""Where Claude Code keeps transcripts, and how a session is found in it.

`projects/<slug of the directory>/<session id>.jsonl`, its side folder `<session id>/` beside it.
The slug is lossy and `/cd` moves the file to another one, so that a session is found by id in
every project folder (observed with Claude Code 2.1.197). Listings and names only, except where a
file has to be opened to tell a used-up id from a session.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from importers import files
from importers.base import Source, StoreState, StoreUnreadable
from importers.files import open_regular

HARNESS: Final = "claude"
PROJECTS: Final = "projects"
SUFFIX: Final = ".jsonl"
AGENT_PREFIX: Final = "agent-"
CHUNK: Final = 256 * 1024
USED_UP: Final = (
    "the id is used up: its file holds no conversation, and Claude Code can neither resume it nor "
    "create a session under it again"
)


_SPEECH: Final = re.compile(rb'"type"\s*:\s*"(?:user|assistant)"')
"""In a line of the conversation; other records may hold it too, quoted in a nested object."""


class _Found(NamedTuple):
    """A path in a project folder; text, because a store may hold thousands."""

    changed: int
    path: str
    problem: str | None


def home(env: Mapping[str, str]) -> Path:
    """Return `$CLAUDE_CONFIG_DIR`, else `~/.claude`; a blank variable counts as unset."""
    configured = env.get("CLAUDE_CONFIG_DIR", "")
    if configured.strip():
        return Path(unicodedata.normalize("NFC", configured))
    user = env.get("HOME", "")
    if not user.strip():
        user = pwd.getpwuid(os.getuid()).pw_dir
    return Path(unicodedata.normalize("NFC", user)) / ".claude"


def locate(root: Path, native_id: str) -> Source:
    """Find a session by id in any project folder; the newest that holds a conversation."""
    if not native_id or native_id in (".", "..") or "/" in native_id or "\0" in native_id:
        return _source(root, native_id, StoreState.MISSING, detail="not a session id")
    problems: list[str] = []
    found = []
    for folder in _project_folders(root, problems):
        entry = _look(f"{folder}/{native_id}{SUFFIX}", problems)
        if entry is not None:
            found.append(entry)
    found.sort(reverse=True)
    empty: str | None = None
    for entry in found:
        if entry.problem is not None:
            problems.append(f"{entry.path}: {entry.problem}")
            continue
        try:
            path = Path(entry.path)
            if holds_conversation(path):
                return _source(root, native_id, StoreState.PRESENT, path)
        except StoreUnreadable as error:
            problems.append(str(error))
            continue
        empty = empty or entry.path
    if problems:
        return _source(root, native_id, StoreState.UNREADABLE, detail="; ".join(problems[:3]))
    if empty is not None:
        return _source(root, native_id, StoreState.MISSING, detail=f"{USED_UP} ({empty})")
    return _source(root, native_id, StoreState.MISSING)


def discover(root: Path) -> Iterator[Source]:
    """Yield every session of the store, newest first, then what is odd or cannot be listed."""
    problems: list[str] = []
    found: dict[str, _Found] = {}
    odd: list[_Found] = []
    for folder in _project_folders(root, problems):
        for name in _transcripts(folder, problems):
            entry = _look(f"{folder}/{name}", problems, listed=True)
            if entry is None:
                continue
            if entry.problem is not None:
                odd.append(entry)
                continue
            native_id = name[: -len(SUFFIX)]
            other = found.get(native_id)
            if other is None or entry.changed > other.changed:
                found[native_id] = entry
    for native_id, entry in sorted(found.items(), key=lambda item: item[1], reverse=True):
        yield _source(root, native_id, StoreState.PRESENT, Path(entry.path))
    for entry in sorted(odd, reverse=True):
        yield _source(
            root,
            Path(entry.path).stem,
            StoreState.UNREADABLE,
            Path(entry.path),
            detail=f"{entry.path}: {entry.problem}",
        )
    for problem in problems:
        yield _source(root, "", StoreState.UNREADABLE, detail=problem)


def holds_conversation(path: Path) -> bool:
    """Return whether a file has a user or assistant record; stops at the first one.

    Raises StoreUnreadable.
    """
    descriptor, _ = open_regular(path)
    with os.fdopen(descriptor, "rb", buffering=CHUNK) as file:
        try:
            return any(_is_speech(line) for line in file if _SPEECH.search(line))
        except OSError as error:
            raise StoreUnreadable(f"{path}: {error.strerror}") from error


def _is_speech(line: bytes) -> bool:
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    if not isinstance(record, dict) or record.get("isSidechain"):
        return False
    return record.get("type") in ("user", "assistant")


# --- listing ------------------------------------------------------------------------------------


def _source(
    root: Path,
    native_id: str,
    state: StoreState,
    path: Path | None = None,
    detail: str | None = None,
) -> Source:
    return Source(
        harness=HARNESS,
        home=root,
        native_id=native_id,
        state=state,
        paths=() if path is None else (path,),
        detail=detail,
        signature="" if path is None else signature(path),
    )


def signature(path: Path) -> str:
    """Return the signature of a session: its file, and the listing of its subagents' folder."""
    return files.signature([path, Path(str(path)[: -len(SUFFIX)] + "/subagents")])


def _project_folders(root: Path, problems: list[str]) -> Iterator[str]:
    projects = f"{root}/{PROJECTS}"
    try:
        with os.scandir(projects) as entries:
            names = sorted(entry.name for entry in entries if _is_folder(entry))
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(f"{projects}: {error.strerror}")
        return
    for name in names:
        yield f"{projects}/{name}"


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _transcripts(folder: str, problems: list[str]) -> list[str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208  (names are enough, and faster)
    except OSError as error:
        problems.append(f"{folder}: {error.strerror}")
        return []
    return [
        name for name in names if name.endswith(SUFFIX) and not name.startswith((AGENT_PREFIX, "."))
    ]


def _look(path: str, problems: list[str], *, listed: bool = False) -> _Found | None:
    """Return what a path is; None if there is nothing. Opens nothing, so that nothing blocks."""
    try:
        status = os.stat(path)  # noqa: PTH116  (a text is faster, by thousands)
    except FileNotFoundError:
        return _Found(0, path, "dangling link") if os.path.islink(path) else None  # noqa: PTH114
    except NotADirectoryError:
        return None
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return None
    changed = status.st_mtime_ns
    if stat.S_ISDIR(status.st_mode):
        return _Found(changed, path, "a directory")
    if not stat.S_ISREG(status.st_mode):
        return _Found(changed, path, "not a regular file")
    if status.st_size == 0 and listed:
        return _Found(changed, path, "empty")
    if not os.access(path, os.R_OK):
        return _Found(changed, path, "permission denied")
    return _Found(changed, path, None)

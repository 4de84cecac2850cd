"""Where Codex keeps rollouts, and how they are found by name.

`sessions/YYYY/MM/DD/` and `archived_sessions/` hold files named
`rollout-<local time>-<thread id>[_<segment id>].jsonl[.zst]` (observed with codex 0.171.0). Finding
needs listings only. The harness's databases are never opened: even a read-only open would leave
files behind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from importers.base import Source, StoreState, StoreUnreadable
from importers.files import open_regular, signature

NAME: Final = re.compile(
    r"rollout-(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-(?P<thread>[^_]+?)(?:_(?P<segment>[^_]+?))?"
    r"\.jsonl(?P<packed>\.zst)?"
)
_LIVE: Final = "sessions"
_ARCHIVE: Final = "archived_sessions"
_DAY_DEPTH: Final = 3


def home(env: Mapping[str, str]) -> Path:
    """Return `$CODEX_HOME`, else `~/.codex`; a blank variable counts as unset."""
    configured = env.get("CODEX_HOME", "")
    if configured.strip():
        return Path(configured)
    user = env.get("HOME", "")
    return (Path(user) if user.strip() else Path.home()) / ".codex"


@dataclass(frozen=True, slots=True, order=True)
class Rollout:
    """One file of a thread, as its name tells."""

    order: tuple[int, str, str]
    """Ascending within a thread in the order in which its segments were started."""
    thread: str
    segment: str
    """Equal to the thread id for the thread's first file."""
    archived: bool
    packed: bool
    path: Path


@dataclass(slots=True)
class Listing:
    """What the folders of a store hold; names only."""

    rollouts: list[Rollout]
    odd: list[tuple[Path, str]]
    """Entries that look like sessions and cannot be one, with the reason."""
    problems: list[str]
    """Folders that could not be listed: then absence proves nothing."""


def list_store(root: Path, containing: str = "") -> Listing:
    """List the rollouts of a store whose names contain a text, archived ones too."""
    listing = Listing([], [], [])
    for name, depth in ((_LIVE, _DAY_DEPTH), (_ARCHIVE, 0)):
        for entry in _entries(root / name, depth, listing.problems):
            if containing in entry.name and ".jsonl" in entry.name:
                _add(listing, entry, archived=name == _ARCHIVE)
    listing.rollouts = _without_doubles(listing.rollouts)
    return listing


def _entries(folder: Path, depth: int, problems: list[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as scan:
            entries = list(scan)
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(f"{folder}: {error.strerror}")
        return
    for entry in entries:
        if depth and entry.is_dir():
            yield from _entries(Path(entry.path), depth - 1, problems)
        else:
            yield entry


def _add(listing: Listing, entry: os.DirEntry[str], *, archived: bool) -> None:
    match = NAME.fullmatch(entry.name)
    if match is None:
        if entry.name.endswith((".jsonl", ".jsonl.zst")):
            listing.odd.append((Path(entry.path), "not named like a rollout"))
        return
    segment = match["segment"] or match["thread"]
    listing.rollouts.append(
        Rollout(
            (_created(segment), match["time"], segment),
            match["thread"],
            segment,
            archived,
            match["packed"] is not None,
            Path(entry.path),
        )
    )


def _created(segment: str) -> int:
    """Return the milliseconds in a version 7 UUID: local time in a name jumps, this does not."""
    digits = segment.replace("-", "")
    if len(digits) != 32 or digits[12] != "7":
        return 0
    try:
        return int(digits[:12], 16)
    except ValueError:
        return 0


def _without_doubles(rollouts: Iterable[Rollout]) -> list[Rollout]:
    """Keep one file per segment: a live one before an archived one, a plain one before a packed."""
    best: dict[str, Rollout] = {}
    for rollout in sorted(rollouts, key=lambda each: (each.archived, each.packed, each.path)):
        best.setdefault(rollout.segment, rollout)
    return sorted(best.values())


def locate(root: Path, native_id: str) -> Source:
    """Find a thread by its id; see `Importer.locate`."""
    listing = list_store(root, native_id) if native_id else Listing([], [], [])
    rollouts = [rollout for rollout in listing.rollouts if rollout.thread == native_id]
    if rollouts:
        return as_source(root, native_id, rollouts)
    state, detail = StoreState.MISSING, None
    if listing.problems:
        state, detail = StoreState.UNREADABLE, "; ".join(listing.problems)
    return Source(harness="codex", home=root, native_id=native_id, state=state, detail=detail)


def discover(root: Path) -> Iterator[Source]:
    """Yield every thread, newest first; only `describe` can tell a subagent's."""
    listing = list_store(root)
    threads: dict[str, list[Rollout]] = {}
    for rollout in listing.rollouts:
        threads.setdefault(rollout.thread, []).append(rollout)
    for thread, rollouts in sorted(
        threads.items(), key=lambda each: each[1][-1].order, reverse=True
    ):
        yield as_source(root, thread, rollouts)
    for path, reason in listing.odd:
        yield _unreadable(root, path.name, (path,), f"{path}: {reason}")
    for problem in listing.problems:
        yield _unreadable(root, "", (), problem)


def as_source(root: Path, thread: str, rollouts: list[Rollout]) -> Source:
    """Return the source of a thread from its files; the newest is opened to see that it can be."""
    paths = tuple(rollout.path for rollout in rollouts)
    try:
        descriptor, _ = open_regular(paths[-1])
    except StoreUnreadable as error:
        return _unreadable(root, thread, paths, str(error))
    os.close(descriptor)
    archived = rollouts[-1].archived
    return Source(
        harness="codex",
        home=root,
        native_id=thread,
        state=StoreState.ARCHIVED if archived else StoreState.PRESENT,
        paths=paths,
        detail=f"archived; `codex unarchive {thread}` brings it back" if archived else None,
        signature=signature(paths),
    )


def _unreadable(root: Path, native_id: str, paths: tuple[Path, ...], detail: str) -> Source:
    return Source(
        harness="codex",
        home=root,
        native_id=native_id,
        state=StoreState.UNREADABLE,
        paths=paths,
        detail=detail,
        signature=signature(paths),
    )

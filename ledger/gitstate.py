"""The state of a work tree at one moment: head, branch and every dirty path with its content hash.

Files are hashed by us and not by git, so that no filter runs and equal hashes mean equal bytes on
disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ledger.gitprocess import Deadline, Git, GitStopped, text

HASH_LIMIT: Final = 1024 * 1024
"""Dirty files up to this many bytes are hashed."""
MAX_PATHS: Final = 5000
"""Dirty paths beyond this number make a state partial."""
SHA: Final = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})\Z")
"""A whole object name; anything else is never given to git as a revision."""


class GitState(NamedTuple):
    """The state of a work tree at one moment."""

    head: str | None
    tree: str | None
    branch: str | None
    paths: Mapping[str, tuple[str, str | None]]
    """Dirty path -> (two-letter status as in porcelain v2, sha256 of the file up to 1 MiB)."""
    dirty_digest: str | None
    """sha256 over the sorted `paths`; None when `partial`."""
    partial: str | None = None
    """Why this is not the whole state."""


def state(worktree: Path, timeout_ms: int = 150) -> GitState:
    """Return the state of a work tree, partial beyond the time limit.

    Nothing is left out silently: ignored files aside, every path that git calls changed or
    untracked is in `paths`. Content that a clean filter would convert is compared unconverted,
    so that a file of such a driver can look changed when its time stamps are. Never raises for a
    broken repository.
    """
    git = Git.find(os.environ)
    if git is None:
        return _partial("git is not installed")
    found = _partial("")
    try:
        deadline = Deadline(timeout_ms)
        head = _head(git, worktree, deadline)
        found = found._replace(head=head.get("head"), tree=head.get("tree"))
        if head.get("split"):
            return found._replace(partial="split index: git would touch it")
        raw = _status(git.without_filters(worktree, deadline), worktree, deadline)
        branch, entries = _parse_status(raw)
        found = found._replace(branch=branch, partial=None)
        if len(entries) > MAX_PATHS:
            reason = f"{len(entries)} changed paths, {MAX_PATHS} are listed"
            found = found._replace(partial=reason)
        paths: dict[str, tuple[str, str | None]] = {}
        found = found._replace(paths=paths)
        for name, code in sorted(entries.items())[:MAX_PATHS]:
            deadline.left()
            paths[text(name)] = (code, file_digest(worktree, name))
    except GitStopped as stopped:
        return found._replace(partial=stopped.reason)
    return found if found.partial else found._replace(dirty_digest=dirty_digest(paths))


def dirty_digest(paths: Mapping[str, Sequence[str | None]]) -> str:
    """Return sha256 over the entries: JSON list of [path, status, hash], sorted by path."""
    rows = [[path, *entry] for path, entry in sorted(paths.items())]
    return hashlib.sha256(json.dumps(rows, separators=(",", ":")).encode()).hexdigest()


def _partial(reason: str) -> GitState:
    return GitState(head=None, tree=None, branch=None, paths={}, dirty_digest=None, partial=reason)


def _head(git: Git, worktree: Path, deadline: Deadline) -> dict[str, str]:
    """Return what `rev-parse` knows: head and tree where there is a commit, split when so."""
    asked = ["--path-format=absolute", "--git-dir", "HEAD", "HEAD^{tree}"]
    answer = git.run(worktree, ["rev-parse", *asked], deadline)
    lines = os.fsdecode(answer.out).split("\n")
    if not lines[0]:
        raise GitStopped(answer.error.splitlines()[0] if answer.error else "no repository")
    found = {}
    if any(Path(lines[0]).glob("sharedindex.*")):
        found["split"] = "yes"
    shas = [line for line in lines[1:] if SHA.match(line)]
    return found | dict(zip(("head", "tree"), shas, strict=False))


def _status(git: Git, worktree: Path, deadline: Deadline) -> bytes:
    answer = git.run(
        worktree,
        [
            "status",
            "--porcelain=v2",
            "-z",
            "--branch",
            "--no-ahead-behind",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
            "--no-renames",
        ],
        deadline,
    )
    if answer.code:
        raise GitStopped(f"git status failed: {answer.error.splitlines()[:1]}")
    return answer.out


def _parse_status(raw: bytes) -> tuple[str | None, dict[bytes, str]]:
    """Read porcelain v2 with -z: (branch, {path: two-letter status})."""
    branch: str | None = None
    entries: dict[bytes, str] = {}
    for record in raw.split(b"\0"):
        kind = record[:2]
        if kind == b"# ":
            key, _, value = record[2:].partition(b" ")
            if key == b"branch.head" and value != b"(detached)":
                branch = text(value)
        elif kind == b"1 ":
            entries[record.split(b" ", 8)[8]] = record[2:4].decode("ascii")
        elif kind == b"u ":
            entries[record.split(b" ", 10)[10]] = record[2:4].decode("ascii")
        elif kind == b"? ":
            entries[record[2:]] = "??"
    return branch, entries


def file_digest(worktree: Path, name: bytes) -> str | None:
    """Return sha256 of a file's bytes, or of a link's target.

    None when it is gone, larger than HASH_LIMIT, a directory, a device or unreadable. Never
    follows a link and never waits for a writer.
    """
    path = os.path.join(os.fsencode(worktree), name)  # noqa: PTH118  (bytes: any file name)
    try:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            return hashlib.sha256(os.readlink(path)).hexdigest()  # noqa: PTH115  (bytes)
        if not stat.S_ISREG(info.st_mode) or info.st_size > HASH_LIMIT:
            return None
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(path, flags)
        with os.fdopen(fd, "rb") as file:
            data = file.read(HASH_LIMIT + 1)
    except OSError:
        return None
    return hashlib.sha256(data).hexdigest() if len(data) <= HASH_LIMIT else None

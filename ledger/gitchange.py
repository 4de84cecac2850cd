"""What changed in a work tree between two recorded states.

The question is about files on disk: a file that was dirty and is now committed with the same bytes
did not change for somebody who had read it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from ledger.gitprocess import Deadline, Git, GitStopped, text
from ledger.gitstate import SHA, GitState, file_digest

MAX_COMMITS: Final = 50
_FORMAT: Final = "%H%x1f%an%x1f%s"


class PathChange(StrEnum):
    """What happened to a path on disk."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    REVERTED = "reverted"
    """It had uncommitted changes, which are gone without a commit."""
    COMMITTED = "committed"
    """Same content as before, now in a commit."""


class TreeState(Protocol):
    """What `changed_between` needs of a state; a stored checkpoint has it too."""

    @property
    def head(self) -> str | None: ...  # noqa: D102
    @property
    def branch(self) -> str | None: ...  # noqa: D102
    @property
    def paths(self) -> Mapping[str, Sequence[str | None]]: ...  # noqa: D102
    @property
    def partial(self) -> str | None: ...  # noqa: D102


class Commit(NamedTuple):
    """One commit, for people."""

    sha: str
    subject: str
    author: str


class TreeChange(NamedTuple):
    """What differs between two states of a work tree."""

    commits: tuple[Commit, ...] = ()
    """Newest first."""
    paths: tuple[tuple[str, PathChange], ...] = ()
    """(path, what happened to it), sorted by path."""
    branch_changed: bool = False
    rewritten: bool = False
    """The old head is not part of the new history although the branch is the same."""
    bounded: str | None = None
    """Why the lists are not complete."""


def changed_between(
    worktree: Path, before: TreeState, after: GitState, *, limit: int = 200, timeout_ms: int = 500
) -> TreeChange:
    """Say what changed in a work tree from one state to another.

    `after` is the state now: files that left the dirty state since are hashed on disk. A head that
    git does not know any more (pruned) leaves the commits unknown and says so in `bounded`; so do
    the limits and a partial state; of a state whose head git did not tell in time nothing else is
    said. Files over the hash limit that are dirty in both states count as unchanged. Never raises
    for a broken repository.
    """
    reasons = [reason for reason in (after.partial, _partial(before)) if reason]
    if _unobserved(before) or _unobserved(after):
        return TreeChange(
            commits=(),
            paths=(),
            branch_changed=False,
            rewritten=False,
            bounded="; ".join(dict.fromkeys(reasons)),
        )
    committed: dict[str, str] = {}
    commits: tuple[Commit, ...] = ()
    rewritten = False
    same_branch = before.branch == after.branch
    git = Git.find(os.environ)
    try:
        if git is None:
            reasons.append("git is not installed")
        elif before.head != after.head:
            history = _History(git, worktree, Deadline(timeout_ms))
            ancestor = history.is_ancestor(before.head, after.head)
            committed = history.paths(before.head, after.head)
            rewritten = same_branch and not ancestor
            commits, more = history.commits(before.head, after.head)
            if more:
                reasons.append(f"more than {MAX_COMMITS} commits")
    except GitStopped as stopped:
        reasons.append(stopped.reason)
    paths = _paths(worktree, before.paths, after.paths, committed)
    if len(paths) > limit:
        reasons.append(f"{len(paths)} changed paths, {limit} are listed")
    return TreeChange(
        commits=commits,
        paths=tuple(paths[:limit]),
        branch_changed=not same_branch,
        rewritten=rewritten,
        bounded="; ".join(dict.fromkeys(reasons)) or None,
    )


class _History:
    """Questions about the commits between two heads, within one time limit."""

    def __init__(self, git: Git, worktree: Path, deadline: Deadline) -> None:
        self._git, self._worktree, self._deadline = git, worktree, deadline

    def is_ancestor(self, old: str | None, new: str | None) -> bool:
        if old is None or new is None:
            return old is None
        self._known(old)
        answer = self._git.run(
            self._worktree, ["merge-base", "--is-ancestor", old, _sha(new)], self._deadline
        )
        if answer.code not in (0, 1):
            raise GitStopped(f"git cannot compare the heads: {answer.error[:200]}")
        return answer.code == 0

    def commits(self, old: str | None, new: str | None) -> tuple[tuple[Commit, ...], bool]:
        """Return the commits that only `new` has, newest first, and whether there are more."""
        if new is None:
            return (), False
        bounds = [_sha(new)] if old is None else [_sha(new), "^" + _sha(old)]
        count = f"--max-count={MAX_COMMITS + 1}"
        answer = self._git.run(
            self._worktree,
            ["rev-list", count, f"--format={_FORMAT}", *bounds, "--"],
            self._deadline,
        )
        if answer.code:
            raise GitStopped(f"git cannot list the commits: {answer.error[:200]}")
        rows = [line.split("\x1f", 2) for line in text(answer.out).split("\n")]
        found = [Commit(sha=row[0], author=row[1], subject=row[2]) for row in rows if len(row) == 3]
        return tuple(found[:MAX_COMMITS]), len(found) > MAX_COMMITS

    def paths(self, old: str | None, new: str | None) -> dict[str, str]:
        """Return {path: raw status letter} between the two trees."""
        if old is None or new is None:
            return {}
        answer = self._git.run(
            self._worktree,
            [
                "diff-tree",
                "-r",
                "-z",
                "--raw",
                "--no-renames",
                "--no-ext-diff",
                "--no-textconv",
                "--ignore-submodules=dirty",
                _sha(old),
                _sha(new),
                "--",
            ],
            self._deadline,
        )
        if answer.code:
            raise GitStopped(f"git cannot compare the trees: {answer.error[:200]}")
        fields = answer.out.split(b"\0")
        return {
            text(path): head.rsplit(b" ", 1)[1].decode("ascii")[:1]
            for head, path in zip(fields[0::2], fields[1::2], strict=False)
            if head.startswith(b":")
        }

    def _known(self, sha: str) -> None:
        answer = self._git.run(
            self._worktree, ["cat-file", "-e", _sha(sha) + "^{commit}"], self._deadline
        )
        if answer.code:
            raise GitStopped(f"the earlier head {sha[:12]} is not in the repository any more")


def _sha(value: str) -> str:
    """Return an object name; raises GitStopped for anything that is none (never an option)."""
    if not SHA.match(value):
        raise GitStopped("a recorded head is not an object name")
    return value


def _unobserved(state: TreeState) -> bool:
    """Whether git did not even tell the head in time: nothing can be compared with that."""
    return state.partial is not None and state.head is None and state.branch is None


def _partial(before: TreeState) -> str | None:
    reason = before.partial
    return None if reason is None else f"the earlier state was partial: {reason}"


def _paths(
    worktree: Path,
    before: Mapping[str, Sequence[str | None]],
    after: Mapping[str, Sequence[str | None]],
    committed: Mapping[str, str],
) -> list[tuple[str, PathChange]]:
    found = []
    for path in sorted({*before, *after, *committed}):
        if path in after:
            change = _dirty_now(before.get(path), after[path])
        elif path in before:
            change = _clean_now(worktree, path, before[path], committed.get(path))
        else:
            change = _LETTERS.get(committed[path], PathChange.MODIFIED)
        if change is not None:
            found.append((path, change))
    return found


_LETTERS: Final = {
    "A": PathChange.ADDED,
    "D": PathChange.DELETED,
}


def _dirty_now(
    before: Sequence[str | None] | None, after: Sequence[str | None]
) -> PathChange | None:
    """Judge a path with uncommitted changes now."""
    if before is not None and list(before)[1] == list(after)[1] and _gone(before) == _gone(after):
        return None
    if _gone(after):
        return PathChange.DELETED
    status = after[0] or ""
    fresh = before is None and (status == "??" or status[:1] == "A")
    return PathChange.ADDED if fresh or (before and _gone(before)) else PathChange.MODIFIED


def _clean_now(
    worktree: Path, path: str, before: Sequence[str | None], letter: str | None
) -> PathChange | None:
    """Judge a path whose uncommitted changes are gone: committed, discarded, or ignored now."""
    target = os.fsencode(path)
    exists = os.path.lexists(os.path.join(os.fsencode(worktree), target))  # noqa: PTH118
    if _gone(before):
        if not exists:
            return PathChange.COMMITTED
        return PathChange.MODIFIED if letter else PathChange.REVERTED
    if not exists:
        return PathChange.DELETED
    if before[1] is not None and file_digest(worktree, target) == before[1]:
        return PathChange.COMMITTED if letter else None
    return PathChange.MODIFIED if letter else PathChange.REVERTED


def _gone(entry: Sequence[str | None]) -> bool:
    """Say whether a status means that the file is not on disk."""
    status = entry[0] or ""
    return status[1:2] == "D" or status == "D."

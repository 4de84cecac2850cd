"""Git, read safely: which checkout this is, what state it is in, what changed between two states.

The invariant this module protects: looking at a repository runs no program that the repository
names (fsmonitor, filters, textconv, hooks, external diff, transports) and writes nothing, not even
the index's time stamps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryKeys:
    """What a repository is recognised by."""

    kind: Literal["git", "directory"]
    name: str
    """For people: last part of the repository's directory."""
    worktree: str
    """Realpath of the work tree; of the directory itself without git."""
    common_dir: str | None = None
    """Realpath of the git common dir."""
    inode: str | None = None
    """"device:inode" of the common dir."""
    roots: str | None = None
    """Digest of root commits and remote; filled only by `with_roots`."""
    directory: str | None = None
    """Realpath of the directory, without git."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A working directory and the repository it belongs to."""

    keys: RepositoryKeys
    cwd: str
    """Realpath of the directory that was asked about."""
    worktree: str
    branch: str | None = None
    """Short branch name; None when detached or without git."""
    head: str | None = None
    """Commit, None when there is none yet."""
    notice: str | None = None
    """Why git was not used although there is something of git here."""


class TreeState(Protocol):
    """What `changed_between` needs of a state; a stored checkpoint has it too."""

    @property
    def head(self) -> str | None: ...  # noqa: D102
    @property
    def branch(self) -> str | None: ...  # noqa: D102
    @property
    def paths(self) -> Mapping[str, Sequence[str | None]]: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class GitState:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit, for people."""

    sha: str
    subject: str
    author: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """What differs between two states of a work tree."""

    commits: tuple[Commit, ...] = ()
    """Newest first."""
    paths: tuple[tuple[str, str], ...] = ()
    """(path, added | modified | deleted | reverted | committed), sorted by path."""
    branch_changed: bool = False
    rewritten: bool = False
    """The old head is not part of the new history although the branch is the same."""
    bounded: str | None = None
    """Why the lists are not complete."""


def describe(cwd: Path, env: Mapping[str, str]) -> Checkout:
    """Say which checkout `cwd` is in. One git process; never raises for a broken repository."""
    raise NotImplementedError


def with_roots(checkout: Checkout, *, timeout_ms: int = 2000) -> RepositoryKeys:
    """Return the keys with `roots` filled in where there are any (walks the history: slow)."""
    raise NotImplementedError


def state(worktree: Path, timeout_ms: int = 150) -> GitState:
    """Return the state of a work tree, partial beyond the time limit."""
    raise NotImplementedError


def changed_between(
    worktree: Path, before: TreeState, after: GitState, *, limit: int = 200, timeout_ms: int = 500
) -> TreeChange:
    """Say what changed in a work tree from one state to another."""
    raise NotImplementedError

"""Git, read safely: which checkout this is, what state it is in, what changed between two states.

The invariant this module protects: looking at a repository runs no program that the repository
names (fsmonitor, filters, textconv, hooks, external diff, transports) and writes nothing, not even
the index's time stamps.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ledger.gitchange import Commit, PathChange, TreeChange, TreeState, changed_between
from ledger.gitprocess import Deadline, Git, GitStopped, text
from ledger.gitstate import SHA, GitState, dirty_digest, state
from ledger.model import RepositoryKeys, RepositoryKind

__all__ = [
    "Checkout",
    "Commit",
    "GitState",
    "PathChange",
    "TreeChange",
    "TreeState",
    "changed_between",
    "describe",
    "dirty_digest",
    "remote_without_userinfo",
    "state",
    "with_roots",
]

DESCRIBE_MS: Final = 2000
"""Limit for `describe`: it takes a few milliseconds, this is for a stalled disk."""


class Checkout(NamedTuple):
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


def describe(cwd: Path, env: Mapping[str, str]) -> Checkout:
    """Say which checkout `cwd` is in. One git process; never raises for a broken repository.

    A submodule is its own repository. A `.git` in `$HOME` does not count for directories below it.
    Where git cannot be used although something of it is there (bare, corrupt, another owner's), the
    answer is of kind `directory` with a `notice`.
    """
    real = os.path.realpath(cwd)
    git = Git.find(env)
    if git is None:
        notice = "git is not installed" if _has_git(real, env) else None
        return _directory(real, notice)
    home = env.get("HOME", "").strip()
    if home and (Path(home) / ".git").exists():
        git = git.with_env({"GIT_CEILING_DIRECTORIES": os.path.realpath(home)})
    asked = ("--path-format=absolute", "--git-common-dir", "--git-dir", "--show-toplevel")
    try:
        answer = git.run(
            Path(real),
            ["rev-parse", *asked, "HEAD", "--symbolic-full-name", "HEAD"],
            Deadline(DESCRIBE_MS),
        )
    except GitStopped as stopped:
        return _directory(real, f"git was not used: {stopped.reason}")
    lines = os.fsdecode(answer.out).split("\n")
    if len(lines) < 4 or not _inside(real, lines[2]):
        return _directory(real, _why_not(answer.error, real, env))
    return _checkout(real, *lines[:5])


def with_roots(checkout: Checkout, *, timeout_ms: int = 2000) -> RepositoryKeys:
    """Return the keys with `roots` filled in where there are any (walks the history: slow).

    `roots` is a digest of the root commits of HEAD and of `remote.origin.url` without userinfo.
    None for a shallow or empty repository, without git, and beyond the time limit.
    """
    git = Git.find(os.environ)
    if git is None or checkout.keys.kind is not RepositoryKind.GIT or checkout.head is None:
        return checkout.keys
    where, deadline = Path(checkout.worktree), Deadline(timeout_ms)
    try:
        shallow = git.run(where, ["rev-parse", "--is-shallow-repository"], deadline)
        if shallow.out.strip() != b"false":
            return checkout.keys
        found = git.run(where, ["rev-list", "--max-parents=0", "HEAD"], deadline)
        remote = git.run(where, ["config", "--get", "remote.origin.url"], deadline)
    except GitStopped:
        return checkout.keys  # no key: the repository is only not offered as a clone
    commits = sorted(line for line in found.lines() if SHA.match(line))
    if found.code or not commits:
        return checkout.keys
    url = remote_without_userinfo(text(remote.out).strip()) if remote.code == 0 else ""
    digest = hashlib.sha256("\n".join(["roots/1", url, *commits]).encode()).hexdigest()
    return checkout.keys._replace(roots=digest[:32])


def remote_without_userinfo(url: str) -> str:
    """Return a remote's address without user, password, query, trailing `/` and `.git`."""
    url = url.split("?", 1)[0].split("#", 1)[0]
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        authority = authority.rpartition("@")[2]
    return (scheme + separator + authority + slash + path).rstrip("/").removesuffix(".git")


def _checkout(
    cwd: str, common: str, git_dir: str, worktree: str, head: str, branch: str = ""
) -> Checkout:
    common, worktree = os.path.realpath(common), os.path.realpath(worktree)
    info = Path(common).stat()
    main = Path(common)
    name = main.parent.name if main.name == ".git" else Path(worktree).name
    keys = RepositoryKeys(
        kind=RepositoryKind.GIT,
        name=name or "root",
        worktree=worktree,
        common_dir=common,
        inode=f"{info.st_dev}:{info.st_ino}",
    )
    return Checkout(
        keys=keys,
        cwd=cwd,
        worktree=worktree,
        head=head if SHA.match(head) else None,
        branch=_branch(branch) or _unborn_branch(Path(git_dir)),
    )


def _directory(real: str, notice: str | None) -> Checkout:
    keys = RepositoryKeys(
        kind=RepositoryKind.DIRECTORY,
        name=Path(real).name or "root",
        worktree=real,
        directory=real,
    )
    return Checkout(keys=keys, cwd=real, worktree=real, notice=notice)


def _branch(ref: str) -> str | None:
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None


def _unborn_branch(git_dir: Path) -> str | None:
    """Return the branch that HEAD names before its first commit."""
    try:
        line = (git_dir / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    return _branch(line.removeprefix("ref: ")) if line.startswith("ref: ") else None


def _inside(path: str, top: str) -> bool:
    top = os.path.realpath(top)
    return path == top or path.startswith(top.rstrip("/") + "/")


def _has_git(real: str, env: Mapping[str, str]) -> bool:
    """Say whether a `.git` lies at or above a directory, that of `$HOME` aside."""
    home = os.path.realpath(env["HOME"]) if env.get("HOME", "").strip() else None
    for place in (Path(real), *Path(real).parents):
        if os.path.lexists(place / ".git"):
            return str(place) != home or str(place) == real
    return False


def _why_not(error: str, real: str, env: Mapping[str, str]) -> str | None:
    """Return the notice for a directory that git would not take."""
    reason = error.splitlines()[0].removeprefix("fatal: ") if error else "no work tree here"
    plain = reason.startswith("not a git repository (or any")
    if plain and not _has_git(real, env):
        return None
    return f"git was not used: {reason}"

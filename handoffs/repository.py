"""Questions to git about a handoff: does a commit exist, how do two heads stand to each other."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from handoffs.models import GitRelation, GitSnapshot
from ledger.gitprocess import Deadline, Git, GitStopped
from ledger.gitstate import GitState

_TIMEOUT_MS: Final = 500
_NAME: Final = re.compile(r"[0-9a-f]{7,64}")


def snapshot(state: GitState) -> GitSnapshot:
    """Return the part of a work tree's state that a handoff keeps."""
    return GitSnapshot(
        head=state.head, branch=state.branch, dirty_digest=state.dirty_digest, tree=state.tree
    )


def commit(worktree: Path, word: str) -> str | None:
    """Return the whole name of a commit given by 7 or more hex digits, None when there is none."""
    if _NAME.fullmatch(word) is None:
        return None
    answer = _run(worktree, ["rev-parse", "--verify", "--quiet", f"{word}^{{commit}}"])
    if answer is None or answer[0]:
        return None
    return answer[1].strip() or None


def relation(worktree: Path, then: str | None, now: str | None) -> GitRelation:
    """Tell how the head now stands to the head then; unknown where git does not know one."""
    if then is None or now is None:
        return GitRelation.UNKNOWN
    if then == now:
        return GitRelation.SAME
    if commit(worktree, then) is None or commit(worktree, now) is None:
        return GitRelation.UNKNOWN
    if _is_ancestor(worktree, then, now):
        return GitRelation.AHEAD
    if _is_ancestor(worktree, now, then):
        return GitRelation.BEHIND
    return GitRelation.DIVERGED


def _is_ancestor(worktree: Path, old: str, new: str) -> bool:
    answer = _run(worktree, ["merge-base", "--is-ancestor", old, new])
    return answer is not None and answer[0] == 0


def _run(worktree: Path, arguments: list[str]) -> tuple[int, str] | None:
    git = Git.find(os.environ)
    if git is None:
        return None
    try:
        answer = git.run(worktree, arguments, Deadline(_TIMEOUT_MS))
    except GitStopped:
        return None
    return answer.code, os.fsdecode(answer.out)

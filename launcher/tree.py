"""What changed in the work tree, in sentences for a briefing: observed facts only.

Stale knowledge of files is the real danger of a native resume, so the files that the session read
or changed come first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ledger import checkpoints, facts, git
from ledger.gitstate import GitState
from ledger.model import CheckpointRow, SessionRow, Workstream
from ledger.store import Store
from ledger.visible import cut, show

MAX_PATHS = 12
MAX_COMMITS = 6


def elsewhere(
    store: Store, workstream: Workstream, worktree: str, receiver: SessionRow | None
) -> list[str]:
    """Return what is different about this work tree: another one was used last."""
    last = checkpoints.last_for_workstream(store, workstream)
    if last is None or last.worktree == worktree:
        return []
    lines = [f"this run is in {show(worktree, newline=False)};"]
    lines[0] += f" the last one was in {show(last.worktree, newline=False)}"
    where = f"{show(last.branch, newline=False)} at " if last.branch else ""
    lines[0] += f" ({where}{(last.head or 'no commit')[:12]})"
    if last.paths:
        named = _listed([f"{entry[0]} {path}" for path, entry in sorted(last.paths.items())])
        lines.append(f"uncommitted changes there are not here: {named}")
    if receiver is not None and receiver.cwd and not _inside(receiver.cwd, worktree):
        lines.append(f"this session worked in {show(receiver.cwd, newline=False)} before")
    return lines


def changed(
    store: Store,
    workstream: Workstream,
    worktree: str,
    now: GitState,
    receiver: SessionRow | None,
) -> list[str]:
    """Return what changed in the tree since the receiver's last turn (or since the last run).

    Empty when nothing did, or when there is nothing to compare with.
    """
    before = _before(store, workstream, worktree, receiver)
    if before is None:
        return []
    change = git.changed_between(Path(worktree), before, now)
    lines: list[str] = []
    if change.branch_changed:
        lines.append(f"branch is now {_name(now.branch)}, was {_name(before.branch)}")
    if change.rewritten:
        lines.append(f"history was rewritten: {(before.head or '')[:12]} is no ancestor of HEAD")
    if change.commits:
        said = [
            f"{c.sha[:9]} {cut(show(c.subject, newline=False), 72, keep='head').text}"
            for c in change.commits[:MAX_COMMITS]
        ]
        more = len(change.commits) - MAX_COMMITS
        lines.append("commits: " + "; ".join(said) + (f" and {more} more" if more > 0 else ""))
    lines += _path_lines(store, workstream, worktree, before, change.paths, receiver)
    if lines and change.bounded:  # that git was slow is no news by itself
        lines.append(f"this is not the whole picture: {show(change.bounded, newline=False)}")
    return lines


def _before(
    store: Store, workstream: Workstream, worktree: str, receiver: SessionRow | None
) -> CheckpointRow | None:
    if receiver is not None:
        own = checkpoints.last_for_session(store, receiver)
        return own if own is not None and own.worktree == worktree else None
    return checkpoints.last_for_workstream(store, workstream, worktree=worktree)


def _path_lines(
    store: Store,
    workstream: Workstream,
    worktree: str,
    before: CheckpointRow,
    paths: Sequence[tuple[str, str]],
    receiver: SessionRow | None,
) -> list[str]:
    if not paths:
        return []
    receiver_id = None if receiver is None else receiver.id
    authors: dict[str, str] = {}
    for fact in facts.changes_since(store, workstream.id, before.seq, without_session=receiver_id):
        authors[_relative(fact.path, worktree)] = fact.entry
    known = set()
    if receiver is not None:
        known = {_relative(path, worktree) for path in facts.known_files(store, receiver.id)}
    mine = [item for item in paths if item[0] in known]
    others = [item for item in paths if item[0] not in known]
    lines = []
    if mine:
        lines.append("files this session knows that changed: " + _said(mine, authors))
    if others:
        lines.append(("other files: " if mine else "files changed: ") + _said(others, authors))
    return lines


def _said(paths: Sequence[tuple[str, str]], authors: dict[str, str]) -> str:
    return _listed(
        [
            f"{what} {path}" + (f" (by {authors[path]})" if path in authors else "")
            for path, what in paths
        ]
    )


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(show(item, newline=False) for item in items[:MAX_PATHS])
    return shown + (f" and {len(items) - MAX_PATHS} more" if len(items) > MAX_PATHS else "")


def _relative(path: str, worktree: str) -> str:
    if not Path(path).is_absolute():
        return os.path.normpath(path)
    return os.path.relpath(path, worktree) if _inside(path, worktree) else path


def _inside(path: str, top: str) -> bool:
    return path == top or path.startswith(top.rstrip("/") + "/")


def _name(branch: str | None) -> str:
    return "detached" if branch is None else show(branch, newline=False)

"""The state of a work tree, recorded at moments that matter: the end of a run, a handoff.

A checkpoint is a row with every dirty path and an event in the log that says so in words.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ledger import host, ids
from ledger.errors import BadDataError
from ledger.model import (
    CheckpointRow,
    EventKind,
    Origin,
    RunRow,
    SessionRow,
    Workstream,
    run_id,
    session_id,
    workstream_id,
)

if TYPE_CHECKING:
    import sqlite3

    from ledger.gitstate import GitState
    from ledger.store import Store

_AROUND: Final = 50
"""Newest checkpoints among which those around a time are looked for."""
_NAMED: Final = 20
"""Paths that the event's text names."""


def record(
    store: Store,
    workstream: Workstream | int,
    state: GitState,
    *,
    run: RunRow | str | None = None,
    session: SessionRow | int | None = None,
    worktree: str | None = None,
    partial: str | None = None,
) -> CheckpointRow:
    """Store a state and its event; return the checkpoint.

    Without a run, a state that equals the last one of this work tree writes nothing and returns
    that. `worktree` (realpath) is the run's own unless given. `partial` adds a reason why the
    state is not the whole truth.
    """
    number = workstream_id(workstream)
    where = worktree or _worktree(store, run)
    reasons = [reason for reason in (partial, state.partial) if reason]
    with store.transaction() as db:
        before = _last(store, number, where)
        why = "; ".join(reasons) or None
        if run is None and before is not None and _same(before, state, why):
            return before
        now = store.clock.now_ms()
        seq = _append(store, number, state, run=run, worktree=where, partial=why, at=now)
        made = db.execute(
            """
            INSERT INTO checkpoint (workstream, run, session, seq, at, worktree, head, tree, branch,
                dirty_digest, paths, partial)
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?)
            """,
            (
                *(number, None if run is None else run_id(run)),
                *(None if session is None else session_id(session), seq, now, where),
                *(state.head, state.tree, state.branch, state.dirty_digest),
                *(json.dumps({path: list(entry) for path, entry in state.paths.items()}), why),
            ),
        ).lastrowid
        row = store.one("SELECT * FROM checkpoint WHERE id = ?", made)
    if row is None:
        raise BadDataError("the checkpoint is gone again")
    return _checkpoint(row)


def last_for_session(store: Store, session: SessionRow | int) -> CheckpointRow | None:
    """Return the checkpoint after the session's last turn, or None."""
    row = store.one(
        "SELECT * FROM checkpoint WHERE session = ? ORDER BY id DESC LIMIT 1", session_id(session)
    )
    return None if row is None else _checkpoint(row)


def last_for_workstream(
    store: Store, workstream: Workstream | int, *, worktree: str | None = None
) -> CheckpointRow | None:
    """Return the last checkpoint of a workstream, in one work tree or anywhere, or None."""
    return _last(store, workstream_id(workstream), worktree)


def around(
    store: Store, workstream: Workstream | int, at: int, *, worktree: str
) -> tuple[CheckpointRow | None, CheckpointRow | None]:
    """Return the last checkpoint of a work tree at or before a time, and the first one after it.

    Looks at the newest `_AROUND` of the workstream.
    """
    after: sqlite3.Row | None = None
    before: sqlite3.Row | None = None
    for row in store.all(
        "SELECT * FROM (SELECT * FROM checkpoint WHERE workstream = ? ORDER BY id DESC LIMIT ?)"
        " WHERE worktree = ? ORDER BY id DESC",
        *(workstream_id(workstream), _AROUND, worktree),
    ):
        if row["at"] <= at:
            before = row
            break
        after = row
    return (
        None if before is None else _checkpoint(before),
        None if after is None else _checkpoint(after),
    )


def describe(state: GitState, partial: str | None = None) -> str:
    """Return a state in words: branch, head, what is uncommitted."""
    head = "no commit" if state.head is None else state.head[:12]
    at = f"{state.branch} at {head}" if state.branch else head
    count = len(state.paths)
    lines = [f"{at}, {_uncommitted(count)}" + (f" (partial: {partial})" if partial else "")]
    lines += [f"{entry[0]} {path}" for path, entry in sorted(state.paths.items())[:_NAMED]]
    if count > _NAMED:
        lines.append(f"… and {count - _NAMED} more")
    return "\n".join(lines)


def _uncommitted(count: int) -> str:
    if count == 0:
        return "nothing uncommitted"
    return "1 path uncommitted" if count == 1 else f"{count} paths uncommitted"


def _append(
    store: Store,
    workstream: int,
    state: GitState,
    *,
    run: RunRow | str | None,
    worktree: str,
    partial: str | None,
    at: int,
) -> int:
    from ledger import append  # with the index and the redactor: not before a start
    from ledger.content import storable
    from ledger.incoming import Context
    from ledger.ingest import context_id

    text, raw = storable(describe(state, partial))
    context = Context(
        owner=host.user_name(), host=store.host_id, cwd=storable(worktree)[0], head=state.head
    )
    row = append.Row(
        event_id=ids.event_id("workstream", EventKind.CHECKPOINT, (ids.random_id("cp_"),)),
        kind=EventKind.CHECKPOINT,
        text=text,
        raw=raw,
        size=len(raw),
        tag=store.tag(raw),
        at=at,
        context=context_id(store, context),
        status="partial" if partial else "ok",
    )
    author = append.Author(
        harness=None,
        session=None,
        run=None if run is None else run_id(run),
        origin=Origin.OUTSIDE if run is None else Origin.RUN,
    )
    return append.append(store, workstream, [row], author).first_seq


def _worktree(store: Store, run: RunRow | str | None) -> str:
    if isinstance(run, RunRow):
        return run.worktree
    row = None if run is None else store.one("SELECT worktree FROM run WHERE id = ?", run)
    if row is None:
        raise ValueError("a checkpoint without a run needs its work tree")
    return str(row["worktree"])


def _last(store: Store, workstream: int, worktree: str | None) -> CheckpointRow | None:
    row = store.one(
        "SELECT * FROM checkpoint WHERE workstream = ?1 AND (?2 IS NULL OR worktree = ?2)"
        " ORDER BY id DESC LIMIT 1",
        workstream,
        worktree,
    )
    return None if row is None else _checkpoint(row)


def _same(before: CheckpointRow, state: GitState, partial: str | None) -> bool:
    return (
        partial is None
        and before.partial is None
        and (
            before.head,
            before.tree,
            before.branch,
            before.dirty_digest,
        )
        == (state.head, state.tree, state.branch, state.dirty_digest)
    )


def _checkpoint(row: sqlite3.Row) -> CheckpointRow:
    values = {name: row[name] for name in CheckpointRow._fields}
    values["paths"] = {
        path: (entry[0], entry[1]) for path, entry in json.loads(row["paths"]).items()
    }
    return CheckpointRow(**values)

"""Checks that were run on purpose, `handoff check -- COMMAND`: kept whole enough to be evidence."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from handoffs.canonical import value_digest
from handoffs.models import CheckStatus
from ledger import ids
from ledger.gitstate import GitState
from ledger.model import Workstream, workstream_id
from ledger.redaction import scrub

if TYPE_CHECKING:
    from ledger.store import Store

PREFIX = "chk_"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """One recorded check. It has the fields that `ledger.git.changed_between` compares."""

    id: str
    workstream: int
    command: str
    cwd: str
    exit_code: int | None
    status: CheckStatus
    failures: int | None
    started_at: int
    ended_at: int
    output_digest: str
    output_bytes: int
    output: str
    worktree: str
    head: str | None
    tree: str | None
    branch: str | None
    dirty_digest: str | None
    paths: Mapping[str, tuple[str, str | None]]
    partial: str | None
    run: str | None
    owner: str

    @property
    def digest(self) -> str:
        """What a reference to it carries."""
        names = ("id", "command", "cwd", "exit_code", "started_at", "ended_at", "output_digest")
        value: dict[str, Any] = {name: getattr(self, name) for name in names}
        value |= {"head": self.head, "branch": self.branch, "dirty_digest": self.dirty_digest}
        return value_digest({**value, "status": str(self.status), "failures": self.failures})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What came of running a command."""

    command: str
    cwd: str
    exit_code: int | None
    status: CheckStatus
    failures: int | None
    started_at: int
    ended_at: int
    output_digest: str
    output_bytes: int
    output: str
    """Head and tail."""


def record(
    store: Store,
    workstream: Workstream | int,
    ran: Ran,
    state: GitState,
    *,
    worktree: str,
    run: str | None,
    owner: str,
) -> CheckRow:
    """Store a check under a fresh id and return it; command and output are scrubbed here."""
    name = ids.random_id(PREFIX)
    with store.transaction() as db:
        db.execute(
            """
            INSERT INTO handoff_check (id, workstream, command, cwd, exit_code, status, failures,
                started_at, ended_at, output_digest, output_bytes, output, worktree, head, tree,
                branch, dirty_digest, paths, partial, run, owner)
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
            """,
            (
                *(name, workstream_id(workstream), scrub(ran.command).text, ran.cwd),
                *(ran.exit_code, str(ran.status), ran.failures, ran.started_at, ran.ended_at),
                *(ran.output_digest, ran.output_bytes, scrub(ran.output).text, worktree),
                *(state.head, state.tree, state.branch, state.dirty_digest),
                json.dumps({path: list(entry) for path, entry in state.paths.items()}),
                *(state.partial, run, owner),
            ),
        )
    found = get(store, name)
    if found is None:
        raise RuntimeError("the check is gone again")
    return found


def get(store: Store, name: str) -> CheckRow | None:
    """Return a check of any workstream, or None."""
    row = store.one("SELECT * FROM handoff_check WHERE id = ?", name)
    return None if row is None else _row(row)


def newest(store: Store, workstream: Workstream | int) -> CheckRow | None:
    """Return the check of a workstream that ended last, or None."""
    row = store.one(
        "SELECT * FROM handoff_check WHERE workstream = ? ORDER BY ended_at DESC, id DESC LIMIT 1",
        workstream_id(workstream),
    )
    return None if row is None else _row(row)


def of_workstream(store: Store, workstream: Workstream | int, *, after: int = 0) -> list[CheckRow]:
    """Return the newest 50 checks that ended after a time, newest first."""
    found = store.all(
        "SELECT * FROM handoff_check WHERE workstream = ? AND ended_at > ?"
        " ORDER BY ended_at DESC, id DESC LIMIT 50",
        workstream_id(workstream),
        after,
    )
    return [_row(row) for row in found]


def _row(row: sqlite3.Row) -> CheckRow:
    values = {name: row[name] for name in CheckRow.__slots__}
    values["status"] = CheckStatus(row["status"])
    values["paths"] = {
        path: (entry[0], entry[1]) for path, entry in json.loads(row["paths"]).items()
    }
    return CheckRow(**values)

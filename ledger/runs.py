"""Managed launches and how far each has come.

The state of a step is stored before the next one starts; whatever is not closed is finished by the
next run of the workstream. Creating a run and giving it another token check the lease in the same
transaction; `advance` and `close` only ever touch the run's own row, so that a run that lost its
lease can still say so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ledger import fencing, ids, sessions
from ledger.errors import UnavailableError
from ledger.model import (
    Outcome,
    RunRow,
    RunSession,
    SessionRow,
    Step,
    Workstream,
    run_id,
    session_id,
    workstream_id,
)
from ledger.redaction import scrub_json

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store

_CHANGEABLE: Final = frozenset(
    {
        *("native_id", "mode", "program", "child_pid", "child_start", "spawned_at", "ended_at"),
        *("exit_code", "signal", "head_before", "summary"),
    }
)


def create(
    store: Store,
    *,
    workstream: Workstream | int,
    entry: str,
    harness: str,
    store_id: int,
    token: int,
    one_shot: bool,
    cwd: str,
    worktree: str,
    argv: Sequence[str],
    host_id: str,
    boot_id: str,
    pid_ns: int,
    pid: int,
    pid_start: int,
    id: str | None = None,  # noqa: A002  (the run's own column)
    nonce: str | None = None,
    mode: str | None = None,
    native_id: str | None = None,
    program: str | None = None,
) -> RunRow:
    """Store a planned run and return it; `store_id` is native_store.id, argv is scrubbed here.

    Raises LeaseLostError when `token` is not the workstream's lease.
    """
    number = workstream_id(workstream)
    run = id or ids.random_id("run_")
    words, _ = scrub_json(list(argv))
    with store.transaction() as db:
        fencing.require(store, number, token)
        db.execute(
            """
            INSERT INTO run (id, workstream, entry, harness, store, token, nonce, step, one_shot,
                mode, native_id, cwd, worktree, argv, program, host_id, boot_id, pid_ns, pid,
                pid_start, started_at, head_before)
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,
                (SELECT head_seq FROM workstream WHERE id = ?))
            """,
            (
                *(run, number, entry, harness, store_id, token, nonce or ids.nonce()),
                *(Step.PLANNED, int(one_shot), mode, native_id, cwd, worktree),
                *(json.dumps(words), program, host_id, boot_id, pid_ns, pid, pid_start),
                *(store.clock.now_ms(), number),
            ),
        )
    return get(store, run)


def get(store: Store, run: str) -> RunRow:
    """Return a run as it is now. Raises UnavailableError."""
    row = find(store, run)
    if row is None:
        raise UnavailableError(f"there is no run {run} in the ledger")
    return row


def find(store: Store, run: str) -> RunRow | None:
    """Return a run, or None."""
    row = store.one("SELECT * FROM run WHERE id = ?", run)
    return None if row is None else _run(row)


def last(store: Store, workstream: Workstream | int) -> RunRow | None:
    """Return the run of a workstream that was started last, or None."""
    row = store.one(
        "SELECT * FROM run WHERE workstream = ? ORDER BY started_at DESC, id DESC LIMIT 1",
        workstream_id(workstream),
    )
    return None if row is None else _run(row)


def before(store: Store, run: RunRow) -> RunRow | None:
    """Return the run of the same workstream that was really started last before this one."""
    row = store.one(
        "SELECT * FROM run WHERE workstream = ? AND id != ? AND spawned_at IS NOT NULL"
        " AND started_at <= ? ORDER BY started_at DESC, id DESC LIMIT 1",
        run.workstream,
        run.id,
        run.started_at,
    )
    return None if row is None else _run(row)


def last_resume(store: Store, session: SessionRow) -> RunRow | None:
    """Return the newest run that resumed a session, among the newest 200 of its workstream."""
    row = store.one(
        "SELECT * FROM run WHERE id = (SELECT id FROM"
        " (SELECT id, started_at, native_id, store, mode, spawned_at FROM run WHERE workstream = ?"
        " ORDER BY started_at DESC, id DESC LIMIT 200)"
        " WHERE native_id = ? AND store = ? AND mode = 'resume' AND spawned_at IS NOT NULL"
        " ORDER BY started_at DESC, id DESC LIMIT 1)",
        *(session.workstream, session.native_id, session.store),
    )
    return None if row is None else _run(row)


def recent_entries(store: Store, workstream: Workstream | int) -> list[str]:
    """Return the harness entries that were really started here, the last used first."""
    rows = store.all(
        "SELECT entry FROM run WHERE workstream = ? AND spawned_at IS NOT NULL"
        " GROUP BY entry ORDER BY max(started_at) DESC, max(id) DESC",
        workstream_id(workstream),
    )
    return [row["entry"] for row in rows]


def unfinished(store: Store, workstream: Workstream | int) -> list[RunRow]:
    """Return the runs of a workstream that are not closed, oldest first, a live one included."""
    rows = store.all(
        "SELECT * FROM run WHERE workstream = ? AND closed_at IS NULL ORDER BY started_at, id",
        workstream_id(workstream),
    )
    return [_run(row) for row in rows]


def advance(store: Store, run: RunRow | str, step: Step, **columns: object) -> None:
    """Store the step that is done, with columns of the run's row that it found out.

    A closed run stays as it is. Raises UnavailableError for an unknown run.
    """
    unknown = set(columns) - _CHANGEABLE
    if unknown:
        raise ValueError(f"a run's {', '.join(sorted(unknown))} cannot be changed")
    sets = "".join(f", {name} = ?" for name in columns)
    with store.transaction() as db:
        get(store, run_id(run))
        db.execute(
            f"UPDATE run SET step = ?{sets} WHERE id = ? AND closed_at IS NULL",
            (step, *columns.values(), run_id(run)),
        )


def adopt_token(store: Store, run: RunRow, token: int) -> RunRow:
    """Let the holder of the workstream's lease finish a dead run; returns the run with its token.

    Raises LeaseLostError when `token` is not that lease.
    """
    with store.transaction() as db:
        fencing.require(store, run.workstream, token)
        db.execute("UPDATE run SET token = ? WHERE id = ? AND closed_at IS NULL", (token, run.id))
    return get(store, run.id)


def close(store: Store, run: RunRow | str, outcome: Outcome, summary: str | None = None) -> None:
    """Close a run; the first outcome stays. `summary` is JSON."""
    with store.transaction() as db:
        db.execute(
            "UPDATE run SET step = ?, outcome = ?, closed_at = ?, summary = coalesce(?, summary)"
            " WHERE id = ? AND closed_at IS NULL",
            (Step.CLOSED, outcome, store.clock.now_ms(), summary, run_id(run)),
        )


def touch_session(
    store: Store,
    run: RunRow | str,
    session: SessionRow | int,
    source: str,
    *,
    ordinal: int | None = None,
) -> None:
    """Note that a run touched a session; `ordinal` sets its place in the order again."""
    with store.transaction() as db:
        sessions.touch(db, run_id(run), session_id(session), source)
        if ordinal is not None:
            db.execute(
                "UPDATE run_session SET ordinal = ? WHERE run = ? AND session = ?",
                (ordinal, run_id(run), session_id(session)),
            )


def sessions_of(store: Store, run: RunRow | str) -> list[RunSession]:
    """Return the sessions that a run touched, in their order."""
    rows = store.all(
        "SELECT * FROM run_session WHERE run = ? ORDER BY ordinal, session", run_id(run)
    )
    return [
        RunSession(
            run=row["run"], session=row["session"], source=row["source"], ordinal=row["ordinal"]
        )
        for row in rows
    ]


def imported(store: Store, run: RunRow | str) -> dict[str, int]:
    """Return how many events of each kind this run brought in, by whichever import they came."""
    rows = store.all(
        "SELECT kind, count(*) FROM event INDEXED BY event_run WHERE run = ?"
        " AND kind NOT IN ('checkpoint', 'annotation') GROUP BY kind",
        run_id(run),
    )
    return {str(kind): int(number) for kind, number in rows}


def sessions_with_events(store: Store, run: RunRow | str) -> set[int]:
    """Return the touched sessions in which something visible happened during the run.

    An event counts when this run brought it in. Of a session that was resumed and had never been
    linked before, only events since the start of the run count: the rest was there already.
    """
    row = run if isinstance(run, RunRow) else get(store, run)
    found = store.all(
        """
        SELECT DISTINCT event.session FROM event
        JOIN run_session ON run_session.run = event.run AND run_session.session = event.session
        JOIN session ON session.id = event.session
        WHERE event.workstream = ?1 AND event.seq > ?2 AND event.run = ?3
          AND event.kind IN ('user_message', 'assistant_message', 'tool_call', 'tool_result')
          AND (run_session.source <> 'resume' OR session.linked_at < ?4
               OR event.occurred_at >= ?4)
        """,
        row.workstream,
        row.head_before,
        row.id,
        row.started_at,
    )
    return {int(item["session"]) for item in found}


def live_of_session(store: Store, session: SessionRow | int) -> RunRow | None:
    """Return the run that touched the session and is not closed yet, the newest of them."""
    row = store.one(
        "SELECT run.* FROM run_session JOIN run ON run.id = run_session.run"
        " WHERE run_session.session = ? AND closed_at IS NULL"
        " ORDER BY started_at DESC, run.id DESC LIMIT 1",
        session_id(session),
    )
    return None if row is None else _run(row)


def _run(row: sqlite3.Row) -> RunRow:
    values = {name: row[name] for name in RunRow._fields}
    values["step"] = Step(row["step"])
    values["outcome"] = None if row["outcome"] is None else Outcome(row["outcome"])
    values["one_shot"] = bool(row["one_shot"])
    values["argv"] = tuple(json.loads(row["argv"]))
    return RunRow(**values)

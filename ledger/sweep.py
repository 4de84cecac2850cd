"""The deleting half of `forget`: everything that a plan names, wherever a copy of it is.

Every step may be done again. The order is: what repeats the words beside the log, then index and
bodies in short transactions, then the file itself is written anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ledger import index

if TYPE_CHECKING:
    from ledger.store import Store

RUNS: Final = "runs"
"""Folder of the runs' private folders in the state directory."""
MARKER: Final = "[forgotten on request]"
"""Stands where a briefing's text was."""
SELECTED: Final = "SELECT eid FROM temp.forgetting"
"""Row ids of the events that are concerned; only numbers are in that temporary table."""

_BATCH: Final = 500
_HANDOFFS: Final = (
    *("handoff_prepared", "handoff_revision", "handoff_head", "handoff_draft"),
    *("handoff_transfer", "handoff_receipt", "handoff_outcome", "handoff_check"),
)
_OF_SESSION: Final = ("plan_item", "session_usage", "agent_check", "left_out", "node", "cursor")


@dataclass(slots=True)
class Plan:
    """What one call is about."""

    sessions: set[int] = field(default_factory=set)
    """Sessions that are forgotten as a whole."""
    workstreams: set[int] = field(default_factory=set)
    """Workstreams that are forgotten as a whole."""
    before: int | None = None
    """Facts beside the conversation older than this go too."""
    briefings: list[int] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)


def sweep(store: Store, plan: Plan, *, folders: bool = True) -> list[str]:
    """Take out what the tombstones name; return what could not be."""
    with store.transaction():
        _sweep_around(store)
        if plan.before is not None:
            _sweep_older(store, plan.before)
        for number in plan.sessions:
            _sweep_session(store, number)
        for number in plan.workstreams:
            _sweep_workstream(store, number)
        for number in plan.briefings:
            store.db.execute(
                "UPDATE briefing SET text = ?, bytes = ? WHERE id = ?",
                (MARKER, len(MARKER), number),
            )
        for run in plan.runs:
            # A one-shot run has its prompt among its arguments.
            store.db.execute(
                "UPDATE run SET argv = '[]', summary = NULL WHERE id = ?",
                (run,),
            )
    remaining = [] if not folders else list(_remove_folders(store.home, plan.runs))
    _sweep_bodies(store)
    return remaining


def _sweep_bodies(store: Store) -> None:
    while True:
        rows = store.all(
            f"SELECT eid FROM body WHERE eid IN ({SELECTED}) ORDER BY eid LIMIT {_BATCH}"
        )
        if not rows:
            return
        eids = [row["eid"] for row in rows]
        with store.transaction() as db:
            index.remove(store, eids)
            db.executemany("DELETE FROM body WHERE eid = ?", [(eid,) for eid in eids])


def _sweep_around(store: Store) -> None:
    """Take out what repeats the events' words elsewhere: titles, plans, drafts, receipts.

    Of handoffs, only those that somebody stands by are left.
    """
    db = store.db
    nobodys = "(author_kind = 'launcher' OR abandoned_at IS NOT NULL)"
    for drafted in ("handoff_draft WHERE", f"handoff_prepared WHERE {nobodys} AND"):
        db.execute(
            f"DELETE FROM {drafted} workstream IN"
            f" (SELECT workstream FROM event WHERE eid IN ({SELECTED}))"
        )
    db.execute(
        "UPDATE session SET title = NULL WHERE id IN ("
        " SELECT membership.session FROM membership JOIN event ON event.eid = membership.eid"
        f" WHERE event.kind = 'user_message' AND event.eid IN ({SELECTED}))"
    )
    db.execute(
        "DELETE FROM plan_item WHERE (session, at) IN ("
        " SELECT membership.session, event.occurred_at FROM membership"
        " JOIN event ON event.eid = membership.eid"
        f" WHERE event.kind = 'tool_call' AND event.eid IN ({SELECTED}))"
    )
    _blank_receipts(
        store,
        "(session, call_id) IN (SELECT membership.session, event.call_id FROM membership"
        f" JOIN event ON event.eid = membership.eid WHERE event.eid IN ({SELECTED}))",
    )


def _blank_receipts(store: Store, where: str, *values: int) -> None:
    # The row stays: its digest is what keeps the line from being applied a second time.
    store.db.execute(
        "UPDATE receipt SET line = '',"
        " refused = CASE WHEN applied_at IS NULL THEN coalesce(refused, 'forgotten')"
        f" ELSE refused END WHERE {where}",
        values,
    )


def _sweep_older(store: Store, before: int) -> None:
    sessions = f"SELECT membership.session FROM membership WHERE membership.eid IN ({SELECTED})"
    for table in ("file_fact", "agent_check", "plan_item"):
        store.db.execute(f"DELETE FROM {table} WHERE at < ? AND session IN ({sessions})", (before,))


def _sweep_session(store: Store, session: int) -> None:
    db = store.db
    for table in (*_OF_SESSION, "turn", "file_fact", "provider_limit", "link"):
        db.execute(f"DELETE FROM {table} WHERE session = ?", (session,))
    _blank_receipts(store, "session = ?", session)
    db.execute(
        "UPDATE session SET title = NULL, cwd = NULL, store_path = NULL, state = 'missing',"
        " state_detail = 'forgotten', deliver = 0 WHERE id = ?",
        (session,),
    )


def _sweep_workstream(store: Store, workstream: int) -> None:
    """Empty a workstream; its row stays for the chain, under a name that frees the old one."""
    db = store.db
    for table in (
        *("note", "checkpoint", "worktree_choice", "link", "provider_limit", "file_fact"),
        *_HANDOFFS,
    ):
        db.execute(f"DELETE FROM {table} WHERE workstream = ?", (workstream,))
    _blank_receipts(store, "workstream = ?", workstream)
    now = store.clock.now_ms()
    db.execute(
        "UPDATE run SET cwd = '', worktree = '', native_id = NULL, step = 'closed',"
        " outcome = coalesce(outcome, 'abandoned'), closed_at = coalesce(closed_at, ?)"
        " WHERE workstream = ?",
        (now, workstream),
    )
    db.execute(
        "UPDATE workstream SET name = 'forgotten-' || uid, objective = NULL, objective_by = NULL,"
        " objective_at = NULL, archived_at = coalesce(archived_at, ?) WHERE id = ?",
        (now, workstream),
    )


def _remove_folders(home: Path, runs: Collection[str]) -> Iterator[str]:
    base = home / RUNS
    for run in sorted(runs):
        folder = base / run
        if Path(run).name != run or not folder.is_dir() or folder.is_symlink():
            continue
        try:
            shutil.rmtree(folder)
        except OSError as error:
            yield f"the run folder {folder} could not be removed: {error.strerror}"


def purge(store: Store) -> list[str]:
    """Write the database anew without what was deleted, and empty the write-ahead log."""
    if not index.compact(store):
        index.rebuild(store)
    from ledger.store import translated

    with translated(store.path):
        # secure_delete does not reach copies that a page split left in the slack of other pages.
        store.db.execute("VACUUM")
        busy = store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    if not busy:
        return []
    held = (
        f"{store.path}-wal still holds old pages, because another process is reading the ledger;"
        " end it and forget again"
    )
    return [held]

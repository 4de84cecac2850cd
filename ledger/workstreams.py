"""Named lines of work: creating, finding, naming them, and which one a work tree used last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ledger import content, ids
from ledger.errors import UnavailableError, UsageError
from ledger.model import Workstream, workstream_id

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store

_COLUMNS: Final = tuple(Workstream._fields)


def create(store: Store, repository: str, name: str) -> Workstream:
    """Create a workstream. Raises UsageError when the repository has one of that name."""
    with store.transaction() as db:
        _refuse_taken(store, repository, name)
        made = db.execute(
            "INSERT INTO workstream (uid, repository, name, created_at, chain) VALUES (?,?,?,?,?)",
            (ids.random_id("ws_"), repository, name, store.clock.now_ms(), content.CHAIN_START),
        ).lastrowid
    return get(store, int(made or 0))


def get(store: Store, workstream: int) -> Workstream:
    """Return a workstream by row id, as it is now. Raises UnavailableError."""
    row = store.one("SELECT * FROM workstream WHERE id = ?", workstream)
    if row is None:
        raise UnavailableError(f"there is no workstream {workstream} in the ledger")
    return _workstream(row)


def by_uid(store: Store, uid: str) -> Workstream | None:
    """Return the workstream of a stable id, or None."""
    row = store.one("SELECT * FROM workstream WHERE uid = ?", uid)
    return None if row is None else _workstream(row)


def by_name(store: Store, repository: str, name: str) -> Workstream | None:
    """Return the workstream of a name in a repository, archived or not."""
    row = store.one("SELECT * FROM workstream WHERE repository = ? AND name = ?", repository, name)
    return None if row is None else _workstream(row)


def list_all(
    store: Store, repository: str | None = None, *, archived: bool = False
) -> list[Workstream]:
    """Return workstreams, the last run first; archived ones only when asked for."""
    rows = store.all(
        """
        SELECT workstream.* FROM workstream
        WHERE (?1 IS NULL OR repository = ?1) AND (?2 OR archived_at IS NULL)
        ORDER BY coalesce(
            (SELECT max(started_at) FROM run WHERE run.workstream = workstream.id), created_at
        ) DESC, id DESC
        """,
        repository,
        int(archived),
    )
    return [_workstream(row) for row in rows]


def rename(store: Store, workstream: Workstream | int, name: str) -> Workstream:
    """Give a workstream another name. Raises UsageError when it is taken."""
    with store.transaction() as db:
        row = get(store, workstream_id(workstream))
        if row.name != name:
            _refuse_taken(store, row.repository, name)
            db.execute("UPDATE workstream SET name = ? WHERE id = ?", (name, row.id))
    return get(store, row.id)


def archive(store: Store, workstream: Workstream | int, *, archived: bool = True) -> Workstream:
    """Hide a workstream from lists and from being chosen by default, or bring it back."""
    row = get(store, workstream_id(workstream))
    if (row.archived_at is not None) != archived:
        with store.transaction() as db:
            db.execute(
                "UPDATE workstream SET archived_at = ? WHERE id = ?",
                (store.clock.now_ms() if archived else None, row.id),
            )
    return get(store, row.id)


def set_objective(
    store: Store, workstream: Workstream | int, text: str | None, *, by: str
) -> Workstream:
    """Store the objective in the person's own words, scrubbed; None or blank takes it away."""
    from ledger.observations import cleaned  # with the redactor: not before a start

    words = cleaned(text.strip()) if text is not None and text.strip() else None
    with store.transaction() as db:
        db.execute(
            "UPDATE workstream SET objective = ?, objective_by = ?, objective_at = ? WHERE id = ?",
            (
                words,
                None if words is None else by,
                None if words is None else store.clock.now_ms(),
                workstream_id(workstream),
            ),
        )
    return get(store, workstream_id(workstream))


def remember_choice(
    store: Store, repository: str, worktree: str, workstream: Workstream | int
) -> None:
    """Note the workstream that was run in a work tree (realpath) just now."""
    with store.transaction() as db:
        db.execute(
            "INSERT INTO worktree_choice (repository, worktree, workstream, run_at)"
            " VALUES (?,?,?,?) ON CONFLICT (repository, worktree) DO UPDATE SET"
            " workstream = excluded.workstream, run_at = excluded.run_at",
            (repository, worktree, workstream_id(workstream), store.clock.now_ms()),
        )


def choice(store: Store, repository: str, worktree: str) -> Workstream | None:
    """Return the workstream that was last run in a work tree, or None."""
    row = store.one(
        "SELECT workstream.* FROM worktree_choice"
        " JOIN workstream ON workstream.id = worktree_choice.workstream"
        " WHERE worktree_choice.repository = ? AND worktree = ?",
        repository,
        worktree,
    )
    return None if row is None else _workstream(row)


def run_in_other_worktree(store: Store, workstream: Workstream | int, worktree: str) -> bool:
    """Return whether the workstream was ever run in another work tree than this."""
    number = workstream_id(workstream)
    found = store.one(
        "SELECT 1 FROM run WHERE workstream = ?1 AND worktree <> ?2 UNION ALL"
        " SELECT 1 FROM worktree_choice WHERE workstream = ?1 AND worktree <> ?2 LIMIT 1",
        number,
        worktree,
    )
    return found is not None


def _refuse_taken(store: Store, repository: str, name: str) -> None:
    if by_name(store, repository, name) is not None:
        raise UsageError(
            f"there is a workstream {name!r} in this repository already",
            next_step=f"Use it with --workstream {name}, or choose another name.",
        )


def _workstream(row: sqlite3.Row) -> Workstream:
    return Workstream(**{name: row[name] for name in _COLUMNS})

"""Questions about what was observed beside the conversation: files, turns, plans, pressure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ledger.store import Store


class FileChange(NamedTuple):
    """A file that a session or one of its subagents changed."""

    path: str
    """As the tool named it: absolute, or relative to the session's directory."""
    action: str
    """edit, create, delete"""
    entry: str
    """Harness entry of the session."""
    session: int
    at: int


class Pressure(NamedTuple):
    """How full a session's context is, as its store says; None where it does not."""

    at: int
    model: str | None
    context_tokens: int | None
    limit_tokens: int | None
    compactions: int


def changes_since(
    store: Store, workstream: int, seq: int, *, without_session: int | None = None
) -> list[FileChange]:
    """Return file changes recorded after event `seq`, oldest first, at most 2,000."""
    rows = store.all(
        "SELECT path, action, session.entry AS entry, file_fact.session AS session, at"
        " FROM file_fact JOIN session ON session.id = file_fact.session"
        " WHERE file_fact.workstream = ? AND at_seq >= ? AND action != 'read'"
        " AND file_fact.session IS NOT ? AND session.deliver = 1 ORDER BY at LIMIT 2000",
        workstream,
        seq,
        without_session,
    )
    return [FileChange(**{name: row[name] for name in FileChange._fields}) for row in rows]


def newest_changes(store: Store, workstream: int, seq: int, *, limit: int) -> list[FileChange]:
    """Return the newest file changes recorded after event `seq`, newest first."""
    rows = store.all(
        "SELECT path, action, session.entry AS entry, file_fact.session AS session, at"
        " FROM file_fact JOIN session ON session.id = file_fact.session"
        " WHERE file_fact.workstream = ? AND at_seq >= ? AND action != 'read'"
        " AND session.deliver = 1 ORDER BY at_seq DESC, at DESC, file_fact.id DESC LIMIT ?",
        *(workstream, seq, limit),
    )
    return [FileChange(**{name: row[name] for name in FileChange._fields}) for row in rows]


def last_change(store: Store, workstream: int) -> int | None:
    """Return the time of the newest known file change, None when there is none.

    Looks at the changes that were recorded last, so that it costs the same however long the
    history is.
    """
    return max((item.at for item in newest_changes(store, workstream, 0, limit=500)), default=None)


def known_files(store: Store, session: int) -> set[str]:
    """Return the paths a session read or changed, as its tools named them."""
    rows = store.all("SELECT DISTINCT path FROM file_fact WHERE session = ?", session)
    return {str(row["path"]) for row in rows}


def turn_state(store: Store, session: int, turn: str) -> str | None:
    """Return open, complete, interrupted or failed; None for a turn that is not known."""
    row = store.one("SELECT state FROM turn WHERE session = ? AND turn = ?", session, turn)
    return None if row is None else str(row["state"])


def last_turn(store: Store, session: int) -> tuple[str, str, str | None] | None:
    """Return (turn, state, error) of the session's newest turn, or None."""
    row = store.one(
        "SELECT turn, state, error FROM turn WHERE session = ? ORDER BY record DESC LIMIT 1",
        session,
    )
    return None if row is None else (row["turn"], row["state"], row["error"])


def plan(store: Store, session: int) -> list[tuple[str, str]]:
    """Return the session's own plan: (text, status) by position."""
    rows = store.all(
        "SELECT text, status FROM plan_item WHERE session = ? ORDER BY position", session
    )
    return [(row["text"], row["status"]) for row in rows]


def pressure(store: Store, sessions: Sequence[int]) -> dict[int, Pressure]:
    """Return the newest usage figures of sessions that have any."""
    found = {}
    for session in sessions:
        row = store.one("SELECT * FROM session_usage WHERE session = ?", session)
        if row is not None:
            found[session] = Pressure(**{name: row[name] for name in Pressure._fields})
    return found

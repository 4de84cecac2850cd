"""Questions about what was observed beside the conversation: files, turns, plans, pressure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from ledger.store import Store

_CHUNK: Final = 400
"""Ids per `IN (...)`."""
_NEWEST: Final = 1_000
"""Records of a session that are looked at for an open call."""
_COUNTED: Final = 10_000
"""Turns that are counted."""


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
    """When the harness recorded the newest figure."""
    model: str | None
    context_tokens: int | None
    limit_tokens: int | None
    compactions: int
    exceeded_at: int | None
    """When the harness said that the context is full, and no request was answered since."""


class Work(NamedTuple):
    """How much was done in a workstream, archives not counted."""

    sessions: int
    turns: int
    turns_capped: bool
    """There are more; no further than this was counted."""
    last_at: int | None
    """Time of the newest event."""


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
    names = ", ".join(Pressure._fields)
    found = {}
    for start in range(0, len(sessions), _CHUNK):
        chunk = sessions[start : start + _CHUNK]
        rows = store.all(
            f"SELECT session, {names} FROM session_usage"
            f" WHERE session IN ({','.join('?' * len(chunk))})",
            *chunk,
        )
        for row in rows:
            found[int(row["session"])] = Pressure(**{n: row[n] for n in Pressure._fields})
    return found


def answered_since(store: Store, session: int, moment: int) -> bool:
    """Tell whether a turn of a session was completed at or after a time."""
    row = store.one(
        "SELECT 1 FROM turn WHERE session = ? AND state = 'complete' AND ended_at >= ? LIMIT 1",
        *(session, moment),
    )
    return row is not None


def open_calls(store: Store, session: int, turn: str) -> int:
    """Return how many tool calls of a session's newest turn have no result of their own.

    Looks at the newest records only. The end of a call that was cut off is no result.
    """
    rows = store.all(
        "SELECT event.kind, event.call_id, event.status FROM"
        " (SELECT eid FROM membership WHERE session = ? AND record >= 0 AND active = 1"
        " ORDER BY record DESC LIMIT ?) AS newest"
        " JOIN event ON event.eid = newest.eid"
        " WHERE event.turn = ? AND event.kind IN ('tool_call', 'tool_result')",
        *(session, _NEWEST, turn),
    )
    called = {row["call_id"] for row in rows if row["kind"] == "tool_call"}
    ended = {
        row["call_id"]
        for row in rows
        if row["kind"] == "tool_result" and row["status"] != "interrupted"
    }
    return len(called - ended)


def last_used(store: Store, workstream: int) -> int | None:
    """Return the session that the newest run touched last, None when there was none."""
    row = store.one(
        "SELECT session FROM (SELECT id, started_at FROM run WHERE workstream = ?"
        " ORDER BY started_at DESC LIMIT 20) AS recent"
        " JOIN run_session ON run_session.run = recent.id"
        " ORDER BY recent.started_at DESC, ordinal DESC LIMIT 1",
        workstream,
    )
    return None if row is None else int(row["session"])


def work(store: Store, workstream: int) -> Work:
    """Return how much was done; turns are counted up to 10,000."""
    sessions = store.one(
        "SELECT count(*) AS n FROM session WHERE workstream = ? AND deliver = 1", workstream
    )
    turns = store.one(
        "SELECT count(*) AS n FROM (SELECT 1 FROM session JOIN turn ON turn.session = session.id"
        " WHERE session.workstream = ? AND session.deliver = 1 LIMIT ?)",
        *(workstream, _COUNTED + 1),
    )
    newest = store.one(
        "SELECT occurred_at AS at FROM event WHERE workstream = ? ORDER BY seq DESC LIMIT 1",
        workstream,
    )
    counted = 0 if turns is None else int(turns["n"])
    return Work(
        sessions=0 if sessions is None else int(sessions["n"]),
        turns=min(counted, _COUNTED),
        turns_capped=counted > _COUNTED,
        last_at=None if newest is None else int(newest["at"]),
    )


def compacted_since(
    store: Store, workstream: int, seq: int, *, least: int, limit: int
) -> list[tuple[str, int]]:
    """Return (native id, compactions) of sessions compacted often after an event, most first."""
    rows = store.all(
        "SELECT session.native_id, count(*) AS n FROM event INDEXED BY event_compaction"
        " JOIN session ON session.id = event.session"
        " WHERE event.workstream = ? AND event.seq > ? AND event.kind = 'compaction'"
        " AND session.deliver = 1 GROUP BY session.id HAVING n >= ?"
        " ORDER BY n DESC, session.id DESC LIMIT ?",
        *(workstream, seq, least, limit),
    )
    return [(str(row["native_id"]), int(row["n"])) for row in rows]

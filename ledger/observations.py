"""What a native session shows beside its conversation: turns, plan, usage, limits, files, checks.

Every function writes inside the caller's transaction and may be repeated with the same items
without changing the outcome, except `count_left_out` and the compactions of `usage`, which add up;
`forget_counts` sets those back when a session is read from its start again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ledger.content import storable
from ledger.redaction import scrub

if TYPE_CHECKING:
    import sqlite3

    from ledger import incoming
    from ledger.model import SessionRow

_FIGURES: Final = ("context_tokens", "limit_tokens", "output_tokens")
_USAGE: Final = ("at", "model", *_FIGURES, "compactions", "exceeded_at")
"""Columns of `session_usage` beside the session."""


def turns(db: sqlite3.Connection, session: int, items: Iterable[incoming.NewTurn]) -> None:
    """Store the newest state of each turn; a known start stays."""
    db.executemany(
        """
        INSERT INTO turn (session, turn, state, error, started_at, ended_at, record)
        VALUES (?,?,?,?,?,?,?)
        ON CONFLICT (session, turn) DO UPDATE SET
            state = excluded.state, error = excluded.error,
            started_at = coalesce(excluded.started_at, started_at),
            ended_at = excluded.ended_at, record = excluded.record
        """,
        [
            (
                *(session, item.turn, item.state, item.error and cleaned(item.error)),
                *(item.started_at, item.ended_at, item.record),
            )
            for item in items
        ],
    )


def plan(db: sqlite3.Connection, session: int, item: incoming.NewPlan) -> None:
    """Replace the session's plan."""
    db.execute("DELETE FROM plan_item WHERE session = ?", (session,))
    db.executemany(
        "INSERT INTO plan_item (session, position, text, status, at) VALUES (?,?,?,?,?)",
        [
            (session, position, cleaned(text), status, item.at)
            for position, (text, status) in enumerate(item.items)
        ],
    )


def usage(
    db: sqlite3.Connection, session: int, items: Iterable[incoming.NewUsage], *, after: int = 0
) -> None:
    """Store the newest figures; unknown ones leave what is there, compactions add up.

    A compaction without a figure makes the size of the context unknown, another model that of its
    window. Compactions up to `after` were inherited by a fork: counters belong to one session.
    """
    given = list(items)
    if not given:
        return
    row = db.execute(
        f"SELECT {', '.join(_USAGE)} FROM session_usage WHERE session = ?", (session,)
    ).fetchone()
    known: dict[str, Any] = (
        dict.fromkeys(_USAGE) if row is None else dict(zip(_USAGE, row, strict=True))
    )
    count = known["compactions"] or 0
    for item in given:
        if item.model is not None and item.model != known["model"]:
            known |= {"model": item.model, "limit_tokens": None}
        if item.compactions:
            known["context_tokens"] = None
            count += item.compactions if item.at > after else 0
        if item.exceeded is not None:
            known["exceeded_at"] = item.at if item.exceeded else None
        figures = {name: getattr(item, name) for name in _FIGURES}
        known |= {name: value for name, value in figures.items() if value is not None}
        known["at"] = item.at
    known["compactions"] = count
    db.execute(
        f"INSERT OR REPLACE INTO session_usage (session, {', '.join(_USAGE)})"
        f" VALUES (?{',?' * len(_USAGE)})",
        (session, *known.values()),
    )


def limits(
    db: sqlite3.Connection,
    session: SessionRow,
    items: Iterable[incoming.NewLimit],
    run: str | None,
) -> None:
    """Store provider limits, each once per session and time."""
    db.executemany(
        "INSERT OR IGNORE INTO provider_limit"
        " (workstream, session, entry, message, observed_at, resets_at, run)"
        " VALUES (?,?,?,?,?,?,?)",
        [
            (
                *(session.workstream, session.id, session.entry, cleaned(item.message)),
                *(item.at, item.resets_at, run),
            )
            for item in items
        ],
    )


def files(
    db: sqlite3.Connection,
    session: SessionRow,
    items: Iterable[incoming.NewFileFact],
    head_seq: int,
) -> None:
    """Store which files were read or changed, each once per time."""
    db.executemany(
        "INSERT OR IGNORE INTO file_fact (workstream, session, agent, path, action, at, at_seq)"
        " VALUES (?,?,?,?,?,?,?)",
        [
            (
                *(session.workstream, session.id, item.agent, cleaned(item.path)),
                *(item.action, item.at, head_seq),
            )
            for item in items
        ],
    )


def checks(db: sqlite3.Connection, session: int, items: Iterable[incoming.NewCheck]) -> None:
    """Store commands of subagents; a known outcome is not lost to an unknown one."""
    db.executemany(
        """
        INSERT INTO agent_check (session, agent, call_id, command, exit_code, at)
        VALUES (?,?,?,?,?,?)
        ON CONFLICT (session, agent, call_id) DO UPDATE SET
            exit_code = coalesce(excluded.exit_code, exit_code)
        """,
        [
            (session, item.agent, item.call_id, cleaned(item.command), item.exit_code, item.at)
            for item in items
        ],
    )


def count_left_out(db: sqlite3.Connection, session: int, counts: Mapping[str, int]) -> None:
    """Add to the counts of records that are never stored."""
    db.executemany(
        "INSERT INTO left_out (session, kind, count) VALUES (?,?,?)"
        " ON CONFLICT (session, kind) DO UPDATE SET count = count + excluded.count",
        [(session, kind, count) for kind, count in counts.items()],
    )


def forget_counts(db: sqlite3.Connection, session: int) -> None:
    """Set the counts that add up back to nothing."""
    db.execute("DELETE FROM left_out WHERE session = ?", (session,))
    db.execute("UPDATE session_usage SET compactions = 0 WHERE session = ?", (session,))


def cleaned(text: str) -> str:
    """Return the text without secrets, and such that UTF-8 can hold it."""
    return scrub(storable(text)[0]).text

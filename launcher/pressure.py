"""Context pressure: how full the sessions are that a run would resume, and what to do about it.

Only what the native stores say; where they say nothing, nothing is estimated.
"""

from __future__ import annotations

from typing import Final

from ledger import facts, runs, sessions
from ledger.model import SessionRow, Workstream
from ledger.store import Store

FULL_PERCENT: Final = 85
MANY_COMPACTIONS: Final = 2
AT_ONCE_MS: Final = 60_000
"""A run that is over this soon did not do any work."""


def advice(store: Store, workstream: Workstream) -> list[str]:
    """Return one line for each current session that is better not resumed, with the command."""
    current = {link.session: link for link in sessions.links(store, workstream)}
    found = facts.pressure(store, sorted(current))
    said = []
    for number in sorted(found):
        why = _why(found[number])
        if why is not None:
            entry = current[number].entry
            said.append(f"{entry}: {why}; start afresh: workstream run --rollover {entry}")
    return list(dict.fromkeys(said))


def worn_out(store: Store, session: SessionRow) -> str | None:
    """Return why a session should not be resumed once more, None when it may be.

    It is full, and the last run of the workstream resumed it and ended at once without an answer.
    """
    last = runs.last(store, session.workstream)
    if last is None or last.native_id != session.native_id or last.mode != "resume":
        return None
    if last.spawned_at is None or last.ended_at is None:
        return None
    turn = facts.last_turn(store, session.id)
    answered = turn is not None and turn[1] == "complete"
    if answered or last.ended_at - last.spawned_at > AT_ONCE_MS:
        return None
    figures = facts.pressure(store, [session.id]).get(session.id)
    why = None if figures is None else _why(figures)
    if why is None:
        return None
    return (
        f"the last run of this session ended at once, and {why};"
        f" start afresh from the handoff: workstream run --rollover {session.entry}"
    )


def _why(figures: facts.Pressure) -> str | None:
    if figures.context_tokens is not None and figures.limit_tokens:
        percent = 100 * figures.context_tokens // figures.limit_tokens
        if percent >= FULL_PERCENT:
            return f"its context is {percent} % full"
    if figures.compactions >= MANY_COMPACTIONS:
        return f"its context was compacted {figures.compactions} times"
    return None

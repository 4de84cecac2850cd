"""Context pressure: how full the sessions are that a run would resume, and what to do about it.

Only what the native stores say; where they say nothing, nothing is estimated.
"""

from __future__ import annotations

from typing import Final

from ledger import facts, sessions
from ledger.model import Workstream
from ledger.store import Store

FULL_PERCENT: Final = 85
MANY_COMPACTIONS: Final = 2


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


def _why(figures: facts.Pressure) -> str | None:
    if figures.context_tokens is not None and figures.limit_tokens:
        percent = 100 * figures.context_tokens // figures.limit_tokens
        if percent >= FULL_PERCENT:
            return f"its context is {percent} % full"
    if figures.compactions >= MANY_COMPACTIONS:
        return f"its context was compacted {figures.compactions} times"
    return None

"""Host observations from the imported session store: what the harness recorded, nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from handoffs.models import HostObservation
from handoffs.occasion import FROM_STORE
from handoffs.policy import Boundary
from ledger import facts, sessions
from ledger.model import SessionRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store


def of_sessions(store: Store, given: Iterable[int]) -> tuple[HostObservation, ...]:
    """Return an observation of each session whose harness recorded anything, in their order."""
    numbers = list(dict.fromkeys(given))
    found = facts.pressure(store, numbers)
    return tuple(
        observation(store, sessions.get(store, number), found[number])
        for number in numbers
        if number in found
    )


def of_last_used(store: Store, workstream: Workstream) -> tuple[HostObservation, ...]:
    """Return an observation of the session that the newest run touched last, if there is one."""
    number = facts.last_used(store, workstream.id)
    return () if number is None else of_sessions(store, [number])


def observation(store: Store, session: SessionRow, figures: facts.Pressure) -> HostObservation:
    """Return the figures of a session as an observation made now."""
    return HostObservation(
        source=f"{FROM_STORE}{session.entry}:{session.native_id}",
        model=figures.model,
        context_tokens=figures.context_tokens,
        limit_tokens=figures.limit_tokens,
        compactions=figures.compactions,
        age_seconds=max(0, store.clock.now_ms() - figures.at) // 1000,
    )


def boundary(store: Store, session: SessionRow) -> Boundary | str:
    """Return the safe boundary at which a session stands, or why it stands at none."""
    last = facts.last_turn(store, session.id)
    if last is None:
        return "its store does not tell where a turn ends"
    turn, state, _ = last
    if state == "open":
        return "its last turn is not finished"
    if facts.open_calls(store, session.id, turn):
        return "a tool call of its last turn has no result"
    return Boundary(session=session.native_id, turn=turn, state=state)

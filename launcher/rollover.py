"""The rollover policy at the end of a run, and its proposal at the start of one.

The end of a run is the safe boundary: the harness has ended, all of it is imported, and a draft is
made anyway. During a run nobody looks: that would need a hook after each turn, which changes what
the harness records, or reading the session while it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from handoffs import policy
from handoffs.occasion import Occasion
from handoffs.policy import Action, Boundary, Level, PolicyRecord
from handoffs.store import drafts, leading, observing
from launcher import pressure
from launcher.planning import Target
from launcher.pressure import Full
from ledger import sessions
from ledger.fencing import require
from ledger.model import RunRow, Workstream

if TYPE_CHECKING:
    from launcher.config import Config
    from ledger.store import Store


def settle(
    store: Store, run: RunRow, workstream: Workstream, config: Config, touched: Sequence[int]
) -> list[str]:
    """Do what the policy says about the sessions of a run that ended; returns one line for each.

    Call it after the run's draft was made. Raises LeaseLostError; then nothing was written.
    """
    level = Level(config.rollover)
    if level is Level.MANUAL:
        return []
    limits = pressure.thresholds(config)
    found = pressure.full(store, workstream, limits, only=set(touched))
    if level is Level.ADVISORY or not found:
        return list(dict.fromkeys(item.advice for item in found))
    drafted = _draft(store, run, workstream, limits, found)
    return list(dict.fromkeys(f"{item.entry}: {item.why}; {drafted}" for item in found))


def _draft(
    store: Store,
    run: RunRow,
    workstream: Workstream,
    limits: policy.Thresholds,
    found: Sequence[Full],
) -> str:
    """Prepare the draft of a run where that is safe; return what was done, in words."""
    made = leading.by_somebody(store, workstream)
    last = found[-1]
    if made is not None and made.created_at >= run.started_at:
        return f"{made.name} hands it off already; {pressure.fresh(last.entry)}"
    at: Boundary | None = None
    for item in found:
        boundary = observing.boundary(store, sessions.get(store, item.session))
        if isinstance(boundary, str):
            return f"no draft is prepared, {boundary}; {pressure.fresh(item.entry)}"
        at = boundary
    signs = tuple(dict.fromkeys(sign for item in found for sign in item.signs))
    record = PolicyRecord(
        level=Level.AUTOMATIC_DRAFT,
        thresholds=limits,
        observations=observing.of_sessions(store, [item.session for item in found]),
        signs=signs,
        boundary=at,
        action=Action.PREPARE_DRAFT,
    )
    occasion = Occasion(policy.reasons(signs), None, record.observations)
    with store.transaction():
        require(store, run.workstream, run.token)
        kept = drafts.keep(store, workstream, run, occasion, record)
    if kept is None:
        return pressure.fresh(last.entry)
    return (
        f"a draft is prepared: workstream handoff show {kept.prepared_id}, then commit it:"
        f" workstream handoff commit {kept.prepared_id}; {pressure.fresh(last.entry)}"
    )


def proposed(target: Target, entry: str, ask: Callable[[str], bool] | None) -> Target:
    """Return the target after the proposal not to resume a session that is worn out.

    The person is asked; where there is nobody to ask (None), a new session is started and it is
    said how to resume the old one even so.
    """
    if target.worn is None:
        return target
    if ask is None:
        text = (
            f"{entry} session {target.resume}: {target.worn}; a new session starts from the handoff"
            f" (run --rollover); to resume it even so: workstream run --no-rollover {entry}"
        )
        return Target(mode="create", notices=(*target.notices, text))
    if not ask(f"{entry}: {target.worn}. Start a new session from the handoff (--rollover)?"):
        return target
    return Target(mode="create", notices=target.notices)

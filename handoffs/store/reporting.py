"""The report on handoffs: how dense, what was never received, where none was made in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from handoffs.models import Basis
from handoffs.store import leading, reading, states
from handoffs.store.states import Coverage, Transfer
from ledger import facts, sessions, workstreams
from ledger.model import DeliveryState, Workstream

if TYPE_CHECKING:
    from ledger.store import Store

STALE_EVENTS: Final = 200
"""Events after a handoff from which on it is called stale."""
STALE_MS: Final = 7 * 86_400_000
MANY_COMPACTIONS: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """How handoffs stand in one workstream."""

    workstream: Workstream
    revisions: int
    prepared: int
    leading: str | None
    """Name of the leading handoff."""
    origin: str | None
    statements: int
    cited: int
    """Statements with evidence."""
    omissions: int
    bytes: int
    age_ms: int | None
    events_since: int
    stale: bool
    never_received: tuple[str, ...]
    """Revisions that no session was ever shown."""
    awaiting: tuple[str, ...]
    """Accepted, without an outcome."""
    unsaved: tuple[tuple[str, int], ...]
    """(native session, compactions) with many compactions and no handoff since they began."""


def report(store: Store, repository: str | None) -> list[Entry]:
    """Return one entry for each workstream of a repository, or of all."""
    return [_entry(store, row) for row in workstreams.list_all(store, repository)]


def _entry(store: Store, workstream: Workstream) -> Entry:
    lead = leading.leading(store, workstream)
    made = reading.revisions(store, workstream, limit=1)
    number = made[0].revision if made and made[0].revision is not None else 0
    now = store.clock.now_ms()
    never, awaiting = [], []
    for item in reading.revisions(store, workstream, limit=10):
        standing = states.standing(store, workstream, item.content_digest)
        received = standing.delivery in (DeliveryState.SEEN, DeliveryState.ACKNOWLEDGED)
        if not received and standing.transfer is Transfer.OPEN:
            never.append(item.name)
        if standing.coverage is Coverage.AWAITING_OUTCOME:
            awaiting.append(item.name)
    statements = () if lead is None else lead.content.statements
    age = None if lead is None else now - lead.created_at
    since = workstream.head_seq - (0 if lead is None else lead.at_seq)
    stale = since > STALE_EVENTS or (since > 0 and (age is None or age > STALE_MS))
    return Entry(
        workstream=workstream,
        revisions=number,
        prepared=len(reading.open_prepared(store, workstream)),
        leading=None if lead is None else lead.name,
        origin=None if lead is None else str(lead.origin),
        statements=len(statements),
        cited=sum(1 for _, item in statements if item.basis is Basis.CITED),
        omissions=0 if lead is None else len(lead.content.omissions),
        bytes=0 if lead is None else _size(lead),
        age_ms=age,
        events_since=since,
        stale=stale,
        never_received=tuple(never),
        awaiting=tuple(awaiting),
        unsaved=tuple(_unsaved(store, workstream)),
    )


def _size(found: reading.Found) -> int:
    from handoffs.canonical import content_bytes

    return len(content_bytes(found.content))


def _unsaved(store: Store, workstream: Workstream) -> list[tuple[str, int]]:
    made = leading.by_somebody(store, workstream)
    after = 0 if made is None else made.created_at
    found = []
    rows = sessions.of_workstream(store, workstream)
    pressure = facts.pressure(store, [row.id for row in rows])
    for row in rows:
        figures = pressure.get(row.id)
        if figures is not None and figures.compactions >= MANY_COMPACTIONS and figures.at > after:
            found.append((row.native_id, figures.compactions))
    return found

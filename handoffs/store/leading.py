"""Which handoff a briefing carries.

A handoff by a person or an agent leads until it was seen and a later run produced visible events;
from then the run's draft leads and cites it. The newest wins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoffs.store import reading
from handoffs.store.reading import Found, Origin
from ledger import deliveries
from ledger.model import SessionRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store


def leading(store: Store, workstream: Workstream) -> Found | None:
    """Return the handoff that leads, or None when there is none at all."""
    made = by_somebody(store, workstream)
    drafted = next(iter(reading.drafts(store, workstream)), None)
    if made is None or drafted is None:
        return made or drafted
    seen = deliveries.first_seen(store, workstream, made.content_digest)
    taken_up = seen is not None and drafted.created_at >= max(seen, made.created_at)
    return drafted if taken_up else made


def by_somebody(store: Store, workstream: Workstream) -> Found | None:
    """Return the newest handoff that a person or an agent made or brought here, or None."""
    candidates = [
        reading.head(store, workstream),
        next(iter(reading.open_prepared(store, workstream)), None),
        reading.transferred(store, workstream),
    ]
    found = [item for item in candidates if item is not None]
    return max(found, key=lambda item: item.created_at, default=None)


def due_to(store: Store, found: Found, receiver: SessionRow | None) -> bool:
    """Tell whether a handoff is news to a receiver; None is a new session.

    Not what it has seen, not what it wrote itself, and not a draft about nothing but its own work.
    """
    if receiver is None:
        return True
    if found.content_digest in deliveries.handoffs_seen(store, receiver):
        return False
    if found.origin is Origin.DRAFT:
        return set(found.sessions) != {receiver.id}
    return found.author_session != receiver.id

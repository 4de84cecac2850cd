"""Which handoff a briefing carries.

A handoff by a person or an agent leads until it was seen and a later run produced visible events;
from then the run's draft leads and cites it. The newest wins.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from handoffs.store import reading
from handoffs.store.reading import Found, Origin
from ledger import deliveries
from ledger.errors import BadDataError
from ledger.model import SessionRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store


def leading(store: Store, workstream: Workstream) -> Found | None:
    """Return the handoff that leads, or None when there is none at all."""
    made = by_somebody(store, workstream)
    drafted = _readable(lambda: next(iter(reading.drafts(store, workstream)), None))
    if made is None or drafted is None:
        return made or drafted
    seen = deliveries.first_seen(store, workstream, made.content_digest)
    taken_up = seen is not None and drafted.created_at >= max(seen, made.created_at)
    return drafted if taken_up else made


def by_somebody(store: Store, workstream: Workstream) -> Found | None:
    """Return the newest handoff that a person or an agent made or brought here, or None."""
    candidates = [
        _readable(lambda: reading.head(store, workstream)),
        _readable(lambda: next(iter(reading.open_prepared(store, workstream)), None)),
        _readable(lambda: reading.transferred(store, workstream)),
    ]
    found = [item for item in candidates if item is not None]
    return max(found, key=lambda item: item.created_at, default=None)


def _readable(read: Callable[[], Found | None]) -> Found | None:
    """Return what is read; a damaged row leads nothing, and must not stop a run.

    `handoff list` and `handoff show` say what is wrong with it.
    """
    try:
        return read()
    except BadDataError:
        return None


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

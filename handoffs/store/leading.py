"""Which handoff a briefing carries, and what in it still waits for an answer.

A handoff by a person or an agent leads until it was seen and a later run produced visible events;
from then the run's draft leads and cites it. The newest wins.

What was shown and not answered is asked for again, in the session that saw it, until it is answered
or replaced. A draft of the launcher is not: the end of the next run replaces it, and nobody waits
for the answer; it would cost a tool call in each run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from handoffs.models import ActorKind, ReceiptStatus
from handoffs.store import reading, receipts
from handoffs.store.reading import Found, Origin
from handoffs.store.rows import StoredReceipt
from ledger import deliveries
from ledger.errors import BadDataError
from ledger.model import SessionRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store

T = TypeVar("T")


class Waiting(NamedTuple):
    """What waits for somebody in a workstream, whoever is asked."""

    unanswered: Found | None
    """The newest handoff by a person or an agent, when it has no receipt."""
    returned: StoredReceipt | None
    """The newest receipt, when it gives a handoff back and none was made since."""


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
        _readable(lambda: _prepared_by_somebody(store, workstream)),
        _readable(lambda: reading.transferred(store, workstream)),
    ]
    found = [item for item in candidates if item is not None]
    return max(found, key=lambda item: item.created_at, default=None)


def _prepared_by_somebody(store: Store, workstream: Workstream) -> Found | None:
    """Return the newest open prepared record that is not the launcher's own."""
    found = reading.open_prepared(store, workstream)
    return next((item for item in found if item.author.kind is not ActorKind.LAUNCHER), None)


def _readable(read: Callable[[], T | None]) -> T | None:
    """Return what is read; a damaged row leads nothing, and must not stop a run.

    `handoff list` and `handoff show` say what is wrong with it.
    """
    try:
        return read()
    except BadDataError:
        return None


def due_to(store: Store, found: Found, receiver: SessionRow | None, *, told: bool = False) -> bool:
    """Tell whether a handoff is news to a receiver; None is a new session.

    Not what it has seen, not what it wrote itself, and not a draft about nothing but its own work.
    """
    if receiver is None:
        return True
    if found.content_digest in deliveries.handoffs_seen(store, receiver, told=told):
        return False
    if found.origin is Origin.DRAFT:
        return set(found.sessions) != {receiver.id}
    return found.author_session != receiver.id


def waiting(store: Store, workstream: Workstream) -> Waiting:
    """Return what waits for an answer, or for a replacement, in a workstream."""
    made = by_somebody(store, workstream)
    last = _readable(lambda: receipts.newest(store, workstream))
    back = last if last is not None and _gives_back(last, made) else None
    asked = made is not None and made.author.kind is not ActorKind.LAUNCHER
    if made is None or not asked or receipts.answered(store, workstream, made.content_digest):
        return Waiting(None, back)
    return Waiting(made, back)


def _gives_back(last: StoredReceipt, made: Found | None) -> bool:
    replaced = made is not None and made.created_at > last.at
    return last.receipt.status is not ReceiptStatus.ACCEPTED and not replaced


def asked_again(
    store: Store, waits: Waiting, receiver: SessionRow | None, *, told: bool = False
) -> Found | None:
    """Return the handoff that a receiver was shown and nobody answered, or None."""
    found = waits.unanswered
    if found is None or receiver is None or found.author_session == receiver.id:
        return None
    shown = deliveries.handoffs_seen(store, receiver, told=told)
    return found if found.content_digest in shown else None


def came_back(
    store: Store, waits: Waiting, receiver: SessionRow | None, *, told: bool = False
) -> StoredReceipt | None:
    """Return the receipt that gave a handoff back, when it is news to a receiver; else None.

    Not to the session that gave it, and once: what was composed later and seen has told it.
    """
    last = waits.returned
    if last is None or receiver is None or last.session == receiver.id:
        return None
    briefings = deliveries.seen_briefings(store, receiver, told=told)
    return None if any(row.created_at > last.at for row in briefings) else last

"""Delivery, transfer and coverage of a handoff: derived from deliveries, receipts and outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from handoffs.models import ReceiptStatus
from handoffs.store import answering, receipts
from ledger import deliveries
from ledger.model import DeliveryState, Workstream

if TYPE_CHECKING:
    from ledger.store import Store


class Transfer(StrEnum):
    """Whether somebody took it."""

    OPEN = "open"
    ACCEPTED = "accepted"
    RETURNED = "returned"


class Coverage(StrEnum):
    """Whether an accepted one has an outcome. Covered does not mean success."""

    NOT_EXPECTED = "not_expected"
    AWAITING_OUTCOME = "awaiting_outcome"
    COVERED = "covered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a handoff stands."""

    delivery: DeliveryState | None
    """The best that any delivery of it reached; None: in no briefing that was to be printed."""
    reason: str | None
    """Of a failed delivery."""
    first_seen: int | None
    transfer: Transfer
    returned_as: ReceiptStatus | None
    """needs_clarification or declined, of a returned one."""
    coverage: Coverage


_ORDER = (
    DeliveryState.ACKNOWLEDGED,
    DeliveryState.SEEN,
    DeliveryState.UNVERIFIED,
    DeliveryState.LAUNCHED,
    DeliveryState.PREPARED,
    DeliveryState.FAILED,
)


def standing(store: Store, workstream: Workstream, digest: str) -> Standing:
    """Return how the handoff with a content digest stands in its workstream."""
    carried = deliveries.of_handoff(store, workstream, digest)
    best = min(carried, key=lambda row: _ORDER.index(row.state), default=None)
    delivery = None if best is None else (best.state, best.reason)
    if delivery is None:
        delivery = deliveries.intended(store, workstream, digest)
    last = receipts.standing(store, workstream, digest)
    transfer, returned, coverage = Transfer.OPEN, None, Coverage.NOT_EXPECTED
    if last is not None and last[1] is ReceiptStatus.ACCEPTED:
        transfer, coverage = Transfer.ACCEPTED, Coverage.AWAITING_OUTCOME
        if answering.covered(store, workstream, last[0]):
            coverage = Coverage.COVERED
    elif last is not None:
        transfer, returned = Transfer.RETURNED, last[1]
    return Standing(
        delivery=None if delivery is None else delivery[0],
        reason=None if delivery is None else delivery[1],
        first_seen=deliveries.first_seen(store, workstream, digest),
        transfer=transfer,
        returned_as=returned,
        coverage=coverage,
    )

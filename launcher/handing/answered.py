"""What receivers said of a handoff and how accepted work ended, as documents and lines."""

from __future__ import annotations

from typing import Any

from handoffs.models import ActorKind, Author, Outcome, Receipt
from handoffs.store import answering, receipts
from handoffs.store.reading import Found
from handoffs.store.rows import StoredReceipt, evidence_value
from launcher.handing.documents import author_document
from launcher.output import iso, local_time
from ledger.model import Workstream
from ledger.store import Store
from ledger.visible import show


def document(store: Store, workstream: Workstream, found: Found) -> dict[str, Any]:
    """Return the receipts of a handoff, oldest first, each with its outcome."""
    return {
        "receipts": [
            {
                **receipt_document(item.receipt),
                "at": iso(item.at),
                "outcome": _outcome_document(_outcome(store, workstream, item)),
            }
            for item in receipts.receipts_of(store, workstream, found.content_digest)
        ]
    }


def lines(store: Store, workstream: Workstream, found: Found) -> list[str]:
    """Return the same in lines, for a person or an agent."""
    said = []
    for item in receipts.receipts_of(store, workstream, found.content_digest):
        receipt = item.receipt
        words = "" if receipt.message is None else f": {_flat(receipt.message)}"
        said.append(f"{receipt.status} by {_who(receipt.receiver)} at {local_time(item.at)}{words}")
        outcome = _outcome(store, workstream, item)
        if outcome is not None:
            left = (
                f"; remaining: {_flat('; '.join(outcome.remaining))}" if outcome.remaining else ""
            )
            said.append(f"ended {outcome.status}: {_flat(outcome.summary)}{left}")
    return said


def receipt_document(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt."""
    live = receipt.live_observed
    return {
        "receipt_key": receipt.receipt_key,
        "target": {
            "content_digest": receipt.target.content_digest,
            "revision": receipt.target.revision,
        },
        "receiver": author_document(receipt.receiver),
        "status": str(receipt.status),
        "checks": None
        if receipt.checks is None
        else {name: str(value) for name, value in receipt.checks._asdict().items()},
        "message": receipt.message,
        "evidence": [evidence_value(item) for item in receipt.evidence],
        "live_observed": {"relation": str(live.relation), "dirty": live.dirty},
        "position": receipt.position,
    }


def _outcome(store: Store, workstream: Workstream, item: StoredReceipt) -> Outcome | None:
    return answering.outcome_of(store, workstream, item.receipt.receipt_key)


def _outcome_document(outcome: Outcome | None) -> dict[str, Any] | None:
    return None if outcome is None else answering.outcome_value(outcome)


def _who(author: Author) -> str:
    if author.kind is ActorKind.AGENT:
        return _flat(f"{author.harness} {author.session or ''}".strip())
    return _flat(author.owner or str(author.kind))


def _flat(text: str) -> str:
    return show(" ".join(text.split()), newline=False)

"""Answers of receivers: acknowledgements of an exact target, and how accepted work ended.

Accepting executes nothing and grants nothing. The last receipt of a target counts; the same key
with the same payload is the same answer, with another payload it is a conflict.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from handoffs.canonical import ref_value, value_digest
from handoffs.errors import RefusedError
from handoffs.models import (
    Author,
    CheckStatus,
    EvidenceState,
    Finding,
    GitRelation,
    LiveChecks,
    Outcome,
    OutcomeCheck,
    OutcomeStatus,
    Receipt,
    ReceiptStatus,
)
from handoffs.store import committing, receipts, rows
from handoffs.store.receiving import Received
from leases.holder import Holder
from ledger import deliveries
from ledger.errors import UnavailableError
from ledger.model import SessionRow, Workstream, workstream_id
from ledger.redaction import scrub

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a receiver says about a target."""

    receipt_key: str
    receiver: Author
    session: SessionRow | None
    """None for a person."""
    status: ReceiptStatus
    checks: LiveChecks | None = None
    message: str | None = None
    superseded: bool = False
    """A superseded target is meant."""
    exact: bool = True
    """False: the target was named as `latest`."""
    run: str | None = None


def acknowledge(
    store: Store,
    workstream: Workstream,
    received: Received,
    answer: Answer,
    *,
    token: int | None = None,
    holder: Holder | None = None,
) -> tuple[Receipt, bool]:
    """Record an answer; returns it and whether it was there before.

    Raises RefusedError with all findings, LeaseLostError, LeaseHeld; then nothing was written.
    """
    message = _message(answer)
    found = received.found
    payload = value_digest(
        {
            "target": found.content_digest,
            "revision": found.revision,
            "receiver": answer.receiver._asdict(),
            "status": str(answer.status),
            "checks": None if answer.checks is None else answer.checks._asdict(),
            "message": message,
        }
    )
    with store.transaction(), committing.held(store, workstream, token, holder):
        known = receipts.by_key(store, workstream, answer.receipt_key)
        if known is not None:
            if known.payload_digest == payload:
                return known.receipt, True
            raise _refused("the receipt key is taken", [_key_conflict("receipt_key")])
        examine(store, workstream, received, answer)
        _insert(store, workstream, received, answer, message, payload)
        if answer.status is ReceiptStatus.ACCEPTED:
            deliveries.acknowledge(store, workstream, found.content_digest, answer.session)
        made = receipts.by_key(store, workstream, answer.receipt_key)
    if made is None:
        raise UnavailableError("the receipt is gone again")
    return made.receipt, False


def examine(store: Store, workstream: Workstream, received: Received, answer: Answer) -> None:
    """Raise RefusedError with all findings when an answer cannot be given; reads only."""
    findings = _findings(store, workstream, received, answer, _message(answer))
    if findings:
        raise _refused("this cannot be acknowledged like this", findings)


def _message(answer: Answer) -> str | None:
    return None if answer.message is None else scrub(answer.message.strip()).text or None


def _findings(
    store: Store,
    workstream: Workstream,
    received: Received,
    answer: Answer,
    message: str | None,
) -> list[Finding]:
    findings = []
    if not answer.exact:
        findings.append(
            Finding(
                code="target_not_exact",
                field="target",
                detail="`latest` can mean another handoff a moment later",
                fix=f"Name the one that was received: {received.found.name}",
            )
        )
    if received.superseded and not answer.superseded:
        number = None if received.head is None else received.head[0]
        findings.append(
            Finding(
                code="target_superseded",
                field="target",
                detail=f"revision {number} stands in its place",
                fix=f"Receive and acknowledge r{number}, or say --superseded.",
            )
        )
    if answer.session is not None and answer.session.workstream != workstream.id:
        findings.append(
            Finding(
                code="scope_mismatch",
                field="receiver",
                detail="the receiver's session belongs to another workstream",
                fix="Answer from a session of this workstream.",
            )
        )
    if answer.status is ReceiptStatus.ACCEPTED:
        findings += _for_accepting(store, workstream, received, answer, message)
    elif message is None:
        findings.append(_message_missing(f"{answer.status} needs words for the sender"))
    return findings


def _for_accepting(
    store: Store,
    workstream: Workstream,
    received: Received,
    answer: Answer,
    message: str | None,
) -> list[Finding]:
    findings = []
    checks = answer.checks or LiveChecks()
    for name, value in checks._asdict().items():
        if str(value) != "confirmed":
            findings.append(
                Finding(
                    code="checks_incomplete",
                    field=name,
                    detail=f"{name} is {value}",
                    fix="Confirm live_state, capability and authorization, or ask back with"
                    " needs_clarification.",
                )
            )
    for item in received.evidence:
        for ref, state in item.refs:
            if state is not EvidenceState.AVAILABLE:
                findings.append(
                    Finding(
                        code=f"evidence_{state}",
                        field=item.field,
                        detail=f"{ref.kind} {ref.id} is {state}",
                        fix="Establish this anew and ask for a new revision, or answer"
                        " needs_clarification.",
                        facts={"ref": ref_value(ref)},
                    )
                )
    if received.live_observed.relation is GitRelation.DIVERGED and message is None:
        findings.append(
            _message_missing("the work tree has diverged from the one that was handed off")
        )
    active = receipts.active_receipt(store, workstream, received.found.content_digest)
    if active is not None:
        findings.append(
            Finding(
                code="already_accepted",
                field="target",
                detail=f"receipt {active.receipt.receipt_key} accepts it already",
                fix="Go on under that receipt, or hand off anew.",
            )
        )
    return findings


def _message_missing(why: str) -> Finding:
    return Finding(
        code="message_missing", field="message", detail=why, fix="Say why: --message TEXT"
    )


def _key_conflict(name: str) -> Finding:
    return Finding(
        code="key_conflict",
        field=name,
        detail="the same key was used with another payload",
        fix="Use another key for another answer.",
    )


def _refused(message: str, findings: list[Finding]) -> RefusedError:
    return RefusedError(message, findings)


def _insert(
    store: Store,
    workstream: Workstream,
    received: Received,
    answer: Answer,
    message: str | None,
    payload: str,
) -> None:
    found, live = received.found, received.live_observed
    head = store.one("SELECT head_seq FROM workstream WHERE id = ?", workstream.id)
    store.db.execute(
        """
        INSERT INTO handoff_receipt (workstream, receipt_key, payload_digest, target_digest,
            target_revision, receiver, session, status, checks, message, evidence, relation, dirty,
            position, run, at)
        VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
        """,
        (
            *(workstream.id, answer.receipt_key, payload, found.content_digest, found.revision),
            rows.author_json(answer.receiver),
            None if answer.session is None else answer.session.id,
            *(str(answer.status), rows.checks_json(answer.checks), message),
            *(rows.evidence_json(received.evidence), str(live.relation)),
            None if live.dirty is None else int(live.dirty),
            *(0 if head is None else head["head_seq"], answer.run, store.clock.now_ms()),
        ),
    )


def settle(store: Store, workstream: Workstream | int, run: str) -> None:
    """Acknowledge the deliveries that a receipt of this run answered before they were known.

    Inside the caller's transaction, after the deliveries of the run were settled.
    """
    found = store.all(
        "SELECT target_digest, session FROM handoff_receipt AS r WHERE workstream = ? AND run = ?"
        " AND status = 'accepted' AND id = (SELECT max(id) FROM handoff_receipt AS last"
        " WHERE last.workstream = r.workstream AND last.target_digest = r.target_digest)",
        *(workstream_id(workstream), run),
    )
    for row in found:
        deliveries.acknowledge(store, workstream, row["target_digest"], row["session"])


# --- outcomes -------------------------------------------------------------------------------------


def record_outcome(
    store: Store,
    workstream: Workstream,
    outcome: Outcome,
    by: Author,
    *,
    run: str | None = None,
    token: int | None = None,
    holder: Holder | None = None,
) -> tuple[Outcome, bool]:
    """Record how work ended; returns it and whether it was there before.

    Raises RefusedError: `receipt_not_accepted` for a receipt that is not the active accepted one
    of its target, `key_conflict`; LeaseLostError, LeaseHeld.
    """
    outcome = Outcome(
        outcome_key=outcome.outcome_key,
        receipt_key=outcome.receipt_key,
        status=outcome.status,
        summary=scrub(outcome.summary.strip()).text,
        checks=outcome.checks,
        remaining=tuple(scrub(text).text for text in outcome.remaining),
    )
    if not outcome.summary:
        raise _refused("an outcome needs words", [_message_missing("the summary is empty")])
    payload = value_digest(outcome_value(outcome))
    with store.transaction() as db, committing.held(store, workstream, token, holder):
        row = store.one(
            "SELECT * FROM handoff_outcome WHERE workstream = ? AND outcome_key = ?",
            *(workstream.id, outcome.outcome_key),
        )
        if row is not None:
            if row["payload_digest"] == payload:
                return outcome_from(row), True
            raise _refused("the outcome key is taken", [_key_conflict("outcome_key")])
        if outcome.receipt_key is not None:
            _require_accepted(store, workstream, outcome.receipt_key)
        db.execute(
            """
            INSERT INTO handoff_outcome (workstream, outcome_key, payload_digest, receipt_key,
                status, summary, checks, remaining, by, run, at)
            VALUES (?,?,?,?,?,?,?,?,?,?,?)
            """,
            (
                *(workstream.id, outcome.outcome_key, payload, outcome.receipt_key),
                *(str(outcome.status), outcome.summary),
                json.dumps(outcome_value(outcome)["checks"], ensure_ascii=False),
                json.dumps(list(outcome.remaining), ensure_ascii=False),
                *(rows.author_json(by), run, store.clock.now_ms()),
            ),
        )
    return outcome, False


def _require_accepted(store: Store, workstream: Workstream, key: str) -> None:
    named = receipts.by_key(store, workstream, key)
    active = None
    if named is not None:
        active = receipts.active_receipt(store, workstream, named.receipt.target.content_digest)
    if active is not None and active.receipt.receipt_key == key:
        return
    detail = "there is no such receipt"
    if named is not None:
        detail = f"that receipt is {named.receipt.status}, and not the active accepted one"
    finding = Finding(
        code="receipt_not_accepted",
        field="receipt_key",
        detail=detail,
        fix="Name the accepted receipt, or record an outcome without one.",
    )
    raise _refused("the outcome covers no accepted receipt", [finding])


def covered(store: Store, workstream: Workstream | int, receipt_key: str) -> bool:
    """Tell whether any outcome names a receipt."""
    sql = "SELECT 1 FROM handoff_outcome WHERE workstream = ? AND receipt_key = ? LIMIT 1"
    return store.one(sql, workstream_id(workstream), receipt_key) is not None


def outcome_of(store: Store, workstream: Workstream | int, receipt_key: str) -> Outcome | None:
    """Return the newest outcome that names a receipt, or None."""
    row = store.one(
        "SELECT * FROM handoff_outcome WHERE workstream = ? AND receipt_key = ?"
        " ORDER BY id DESC LIMIT 1",
        *(workstream_id(workstream), receipt_key),
    )
    return None if row is None else outcome_from(row)


def outcome_value(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as plain JSON values."""
    return {
        "outcome_key": outcome.outcome_key,
        "receipt_key": outcome.receipt_key,
        "status": str(outcome.status),
        "summary": outcome.summary,
        "checks": [
            {
                "name": item.name,
                "status": str(item.status),
                "ref": None if item.ref is None else ref_value(item.ref),
            }
            for item in outcome.checks
        ],
        "remaining": list(outcome.remaining),
    }


def outcome_from(row: sqlite3.Row) -> Outcome:
    """Return the outcome of a row. Raises BadDataError."""
    with rows.reading_row("outcome"):
        return _outcome(row)


def _outcome(row: sqlite3.Row) -> Outcome:
    remaining = json.loads(row["remaining"])
    if not isinstance(remaining, list) or not all(isinstance(text, str) for text in remaining):
        raise ValueError("what remains is not a list of texts")
    return Outcome(
        outcome_key=row["outcome_key"],
        receipt_key=row["receipt_key"],
        status=OutcomeStatus(row["status"]),
        summary=row["summary"],
        checks=tuple(
            OutcomeCheck(
                name=item["name"],
                status=CheckStatus(item["status"]),
                ref=None if item["ref"] is None else rows.ref_from(item["ref"]),
            )
            for item in json.loads(row["checks"])
        ),
        remaining=tuple(remaining),
    )

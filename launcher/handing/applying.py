"""Handoff receipts: what an agent asked for from inside a sandbox, applied when its run ends.

Everything is checked here as it would have been there, with all records of the run imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from handoffs.models import (
    ActorKind,
    Author,
    CheckStatus,
    Confirmation,
    LiveChecks,
    Outcome,
    OutcomeCheck,
    OutcomeStatus,
    ReceiptStatus,
)
from handoffs.repository import snapshot
from handoffs.store import answering, observing, preparing, receiving
from handoffs.store.answering import Answer
from handoffs.store.preparing import Circumstances
from launcher.handing import composing, occasions
from launcher.handing.occasions import Given
from ledger import git, sessions, workstreams
from ledger.errors import BadDataError, BusyError, UnavailableError, UsageError
from ledger.model import ReceiptRow, RunRow, Workstream
from ledger.store import Store

PREPARED: Final = "handoff_prepared"
ACKNOWLEDGE: Final = "acknowledge"
OUTCOME: Final = "outcome"


def apply(
    store: Store, run: RunRow, workstream: Workstream, payload: Mapping[str, Any], row: ReceiptRow
) -> None:
    """Apply one receipt under the run's token; inside the caller's transaction.

    Raises BadDataError with the reason when it is refused.
    """
    verbs: dict[str, Callable[[_Applied], None]] = {
        PREPARED: _prepare,
        ACKNOWLEDGE: _acknowledge,
        OUTCOME: _outcome,
    }
    now = workstreams.get(store, workstream.id)
    applied = _Applied(store, run, now, payload, row)
    try:
        verbs[str(payload["do"])](applied)
    except (UnavailableError, UsageError) as error:
        raise BadDataError(error.message, detail=error.detail) from error
    except BusyError as error:
        if error.code == "lease_lost":
            raise
        raise BadDataError(error.message) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadDataError("a receipt does not have its shape", detail=str(error)) from error


class _Applied:
    """A receipt and its circumstances."""

    def __init__(
        self,
        store: Store,
        run: RunRow,
        workstream: Workstream,
        payload: Mapping[str, Any],
        row: ReceiptRow,
    ) -> None:
        self.store = store
        self.run = run
        self.workstream = workstream
        self.payload = payload
        self.row = row
        self.session = sessions.get(store, row.session)
        self.worktree = Path(run.worktree)

    @property
    def author(self) -> Author:
        """The agent in whose session the line was found."""
        return Author(kind=ActorKind.AGENT, session=self.session.native_id, harness=self.run.entry)

    def text(self, name: str) -> str | None:
        """Return a text of the payload, None when it has none. Raises TypeError."""
        value = self.payload.get(name)
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} is no text")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts of the payload, empty when it has none. Raises TypeError."""
        value = self.payload.get(name) or ()
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            raise TypeError(f"{name} is no list of texts")
        return tuple(value)


def _prepare(given: _Applied) -> None:
    if preparing.by_receipt(given.store, given.row.digest) is not None:
        return
    why = Given(given.texts("reasons"), given.texts("observed"), given.text("said_by"))
    recorded = observing.of_sessions(given.store, [given.session.id])
    occasion, findings = occasions.observed(why, ActorKind.AGENT, recorded)
    made = composing.parsed(given.store, given.workstream, given.worktree, given.text("text") or "")
    content, facts = composing.checked(
        given.store, given.workstream, given.worktree, made, around=findings
    )
    preparing.prepare(
        given.store,
        given.workstream,
        content,
        facts,
        Circumstances(
            author=given.author,
            author_session=given.session.id,
            reasons=occasion.reasons,
            statement=occasion.statement,
            observations=occasion.observations,
            objective=given.workstream.objective,
            git=snapshot(git.state(given.worktree)),
            run=given.run.id,
            receipt=given.row.digest,
        ),
    )


def _acknowledge(given: _Applied) -> None:
    received = receiving.receive(
        given.store, given.workstream, str(given.payload["target"]), given.worktree
    )
    if received is None:
        raise BadDataError("there is no handoff to acknowledge")
    checks = given.payload.get("checks")
    answer = Answer(
        receipt_key=str(given.payload["key"]),
        receiver=given.author,
        session=given.session,
        status=ReceiptStatus(given.payload["status"]),
        checks=None
        if checks is None
        else LiveChecks(**{name: Confirmation(value) for name, value in checks.items()}),
        message=given.text("message"),
        superseded=bool(given.payload.get("superseded")),
        exact=given.payload["target"] != "latest",
        run=given.run.id,
    )
    answering.acknowledge(given.store, given.workstream, received, answer, token=given.run.token)


def _outcome(given: _Applied) -> None:
    outcome = Outcome(
        outcome_key=str(given.payload["key"]),
        receipt_key=given.text("receipt"),
        status=OutcomeStatus(given.payload["status"]),
        summary=given.text("summary") or "",
        checks=tuple(
            OutcomeCheck(name=str(name), status=CheckStatus(status))
            for name, status in given.payload.get("checks") or ()
        ),
        remaining=tuple(str(item) for item in given.payload.get("remaining") or ()),
    )
    answering.record_outcome(
        given.store,
        given.workstream,
        outcome,
        given.author,
        run=given.run.id,
        token=given.run.token,
    )

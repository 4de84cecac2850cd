"""What a draft is made from: read from the ledger, bounded, without a judgement.

Everything here is observed or recorded; what an agent says stays a claim of that agent.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from handoffs import imported_checks
from handoffs.draft_talk import Talk, is_request, talk
from handoffs.facts import CheckFact, Comparison, changed_since
from handoffs.imported_checks import Candidate
from handoffs.ledger_facts import LedgerFacts
from handoffs.models import CheckStatus, Disposition, Outcome, Receipt, Ref, RefKind
from handoffs.resolver import plain_event_ref
from handoffs.store import answering, checks, leading, receipts
from handoffs.store.reading import Found
from ledger import events, facts, limits, runs, sessions, workstreams
from ledger.model import Branch, EventRow, RunRow, SessionRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store

CHECKS: Final = 4
CHANGES: Final = 200
"""Newest file changes that are looked at."""
_FIRST_MESSAGES: Final = 20
_REVISIONS: Final = 40
"""Newest revisions among which the one that completed the work before is looked for."""
FAILED: Final = (CheckStatus.FAILED, CheckStatus.TIMED_OUT)
"""Statuses of a check that needs somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The newest outcome of one command."""

    command: str
    status: CheckStatus
    exit_code: int | None
    failures: int | None
    at: int
    ref: Ref
    since: Comparison
    """Whether files were changed after it."""


class Plan(NamedTuple):
    """The newest plan that a harness keeps by itself."""

    items: tuple[tuple[str, str], ...]
    """(text, status)"""
    entry: str
    """Harness entry whose plan it is."""
    at: int
    event: EventRow | None
    """The call that wrote it, when it is an event."""
    older: bool
    """It was not touched in the run: what was done since may have settled some of it."""

    @property
    def open(self) -> list[str]:
        """Items that are not completed."""
        return [text for text, status in self.items if status != "completed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """All of it."""

    workstream: Workstream
    run: RunRow
    session: SessionRow
    """The last session in which something happened."""
    objective: str
    inferred_from: EventRow | None
    """The message the objective was taken from; None: the person gave it."""
    talk: Talk
    changed: tuple[tuple[str, str, str], ...]
    """(path, action, harness entry), newest first, each path once."""
    checks: tuple[Check, ...]
    """Newest first."""
    plan: Plan | None
    turn: tuple[str, str | None] | None
    """(state, error) of the last turn."""
    unanswered: EventRow | None
    """A tool call of the last turn that was cut off: nothing is known of its result."""
    limit: str | None
    """The provider's words about a limit that was reached."""
    before: Found | None
    """The handoff by somebody that this work followed."""
    answer: Receipt | None
    """What its receiver said of it."""
    outcome: Outcome | None
    """How the accepted work is said to have ended."""


def collect(
    store: Store, workstream: Workstream, run: RunRow, active: set[int], known: LedgerFacts
) -> Material | None:
    """Return the material of a run; None when nothing visible happened or nothing was asked.

    `known` compares trees with the tree at the end of the run.
    """
    touched = [item.session for item in runs.sessions_of(store, run) if item.session in active]
    if not touched:
        return None
    workstream = workstreams.get(store, workstream.id)
    session = sessions.get(store, touched[-1])
    boundary = _boundary(store, workstream)
    objective, inferred = _objective(store, workstream, boundary)
    if objective is None:
        return None
    turn = facts.last_turn(store, session.id)
    limit = limits.latest_of_run(store, run)
    before = _before(store, workstream, run)
    answer, outcome = _became(store, workstream, before)
    return Material(
        workstream=workstream,
        run=run,
        session=session,
        objective=objective,
        inferred_from=inferred,
        talk=talk(
            store,
            workstream,
            run,
            boundary=boundary,
            objective=inferred,
            complete=turn is not None and turn[1] == "complete",
        ),
        changed=_changed(store, workstream, boundary, run.worktree),
        checks=_checks(store, workstream, boundary, known),
        plan=_plan(store, workstream, run, boundary),
        turn=None if turn is None else (turn[1], turn[2]),
        unanswered=None if turn is None else _unanswered(store, run, turn[0]),
        limit=None if limit is None else str(limit["message"]),
        before=before,
        answer=answer,
        outcome=outcome,
    )


def _boundary(store: Store, workstream: Workstream) -> int:
    """Return the event after which the present work began: a completed handoff, or a /clear."""
    done = store.one(
        "SELECT at_seq FROM (SELECT revision, at_seq, content FROM handoff_revision"
        " WHERE workstream = ? ORDER BY revision DESC LIMIT ?)"
        " WHERE instr(content, ?) ORDER BY revision DESC LIMIT 1",
        *(workstream.id, _REVISIONS, f'"disposition":"{Disposition.COMPLETE}"'),
    )
    last = 0 if done is None else int(done["at_seq"])
    row = store.one(
        "SELECT max(born_through) AS seq FROM session WHERE workstream = ? AND born = 'clear'"
        " AND EXISTS (SELECT 1 FROM membership WHERE membership.session = session.id)",
        workstream.id,
    )
    return max(last, 0 if row is None or row["seq"] is None else int(row["seq"]))


def _objective(
    store: Store, workstream: Workstream, boundary: int
) -> tuple[str | None, EventRow | None]:
    if workstream.objective is not None:
        return workstream.objective, None
    rows = store.all(
        "SELECT seq FROM event INDEXED BY event_user WHERE workstream = ? AND seq > ?"
        " AND kind = 'user_message' AND EXISTS (SELECT 1 FROM session"
        " WHERE session.id = event.session AND deliver = 1) ORDER BY seq LIMIT ?",
        *(workstream.id, boundary, _FIRST_MESSAGES),
    )
    for row in rows:
        event = events.get(store, workstream, str(row["seq"]))
        if event.branch is Branch.ACTIVE and is_request(event.text):
            return event.text.strip(), event
    return None, None


def _changed(
    store: Store, workstream: Workstream, boundary: int, worktree: str
) -> tuple[tuple[str, str, str], ...]:
    found: dict[str, tuple[str, str, str]] = {}
    for fact in facts.newest_changes(store, workstream.id, boundary, limit=CHANGES):
        path = _relative(fact.path, worktree)
        if path not in found:
            found[path] = (path, fact.action, fact.entry)
    return tuple(found.values())


def _relative(path: str, worktree: str) -> str:
    if not path.startswith(worktree.rstrip("/") + "/"):
        return path
    return os.path.relpath(path, worktree)


class _Ran(NamedTuple):
    """One run of a check, and how to learn what came of it; nothing when it was forgotten."""

    at: int
    command: str
    learn: Callable[[], tuple[Ref, CheckFact] | None]


def _checks(
    store: Store, workstream: Workstream, boundary: int, known: LedgerFacts
) -> tuple[Check, ...]:
    """Return the newest run of each of the commands that were run last."""
    after = _time(store, workstream, boundary)
    recorded = [
        _Ran(row.ended_at, row.command, partial(_recorded, known, row))
        for row in checks.of_workstream(store, workstream, after=after)
    ]
    imported = (
        _Ran(item.at, item.command, partial(_imported, known, item))
        for item in imported_checks.candidates(store, workstream, after=boundary)
    )
    found: dict[str, Check] = {}
    for ran in heapq.merge(recorded, imported, key=lambda item: item.at, reverse=True):
        name = " ".join(ran.command.split())
        if name not in found and (learned := ran.learn()) is not None:
            found[name] = _checked(ran, *learned, known)
        if len(found) == CHECKS:
            break
    return tuple(found.values())


def _recorded(known: LedgerFacts, row: checks.CheckRow) -> tuple[Ref, CheckFact]:
    return Ref(kind=RefKind.CHECK, id=row.id, digest=row.digest), known.of_recorded(row)


def _imported(known: LedgerFacts, item: Candidate) -> tuple[Ref, CheckFact] | None:
    made = item.make()
    if made.forgotten:  # what cannot be cited supports nothing
        return None
    return Ref(kind=RefKind.CHECK, id=made.id, digest=made.digest), known.of_imported(made)


def _checked(ran: _Ran, ref: Ref, fact: CheckFact, known: LedgerFacts) -> Check:
    return Check(
        command=ran.command,
        status=fact.status,
        exit_code=fact.exit_code,
        failures=fact.failures,
        at=ran.at,
        ref=ref,
        since=changed_since(fact, known.last_change),
    )


def _plan(store: Store, workstream: Workstream, run: RunRow, boundary: int) -> Plan | None:
    """Return the plan that was written last, in whichever session, since the present work began."""
    row = store.one(
        "SELECT plan_item.session, max(plan_item.at) AS at FROM plan_item"
        " JOIN session ON session.id = plan_item.session"
        " WHERE session.workstream = ? AND session.deliver = 1"
        " GROUP BY plan_item.session ORDER BY at DESC, plan_item.session DESC LIMIT 1",
        workstream.id,
    )
    if row is None or int(row["at"]) <= _time(store, workstream, boundary):
        return None
    session, at = sessions.get(store, int(row["session"])), int(row["at"])
    return Plan(
        items=tuple(facts.plan(store, session.id)),
        entry=session.entry,
        at=at,
        event=_plan_event(store, session),
        older=at < run.started_at,
    )


def _time(store: Store, workstream: Workstream, seq: int) -> int:
    """Return when an event occurred, 0 for the beginning."""
    row = store.one(
        "SELECT occurred_at FROM event WHERE workstream = ? AND seq = ?", *(workstream.id, seq)
    )
    return 0 if row is None else int(row["occurred_at"])


def _plan_event(store: Store, session: SessionRow) -> EventRow | None:
    row = store.one(
        "SELECT event.seq FROM plan_item JOIN event ON event.session = plan_item.session"
        " AND event.occurred_at = plan_item.at AND event.kind = 'tool_call'"
        " WHERE plan_item.session = ? AND event.workstream = ? ORDER BY event.seq DESC LIMIT 1",
        *(session.id, session.workstream),
    )
    return None if row is None else events.get(store, session.workstream, str(row["seq"]))


def _unanswered(store: Store, run: RunRow, turn: str) -> EventRow | None:
    """Return the last call of a turn, when its result says only that it was cut off."""
    row = store.one(
        "SELECT status, turn, call_id, session FROM event INDEXED BY event_run WHERE run = ?"
        " AND kind = 'tool_result' AND workstream = ? ORDER BY seq DESC LIMIT 1",
        *(run.id, run.workstream),
    )
    if row is None or row["status"] != "interrupted" or row["turn"] != turn:
        return None
    call = store.one(
        "SELECT seq FROM event INDEXED BY event_run WHERE run = ? AND kind = 'tool_call'"
        " AND workstream = ? AND call_id = ? AND session = ? ORDER BY seq DESC LIMIT 1",
        *(run.id, run.workstream, row["call_id"], row["session"]),
    )
    return None if call is None else events.get(store, run.workstream, str(call["seq"]))


def _before(store: Store, workstream: Workstream, run: RunRow) -> Found | None:
    made = leading.by_somebody(store, workstream)
    if made is None or made.created_at > run.started_at:
        return None
    return made


def _became(
    store: Store, workstream: Workstream, before: Found | None
) -> tuple[Receipt | None, Outcome | None]:
    """Return the answer to a handoff and, when it was accepted, how the work ended."""
    last = before and receipts.last_receipt(store, workstream, before.content_digest)
    if last is None:
        return None, None
    return last.receipt, answering.outcome_of(store, workstream, last.receipt.receipt_key)


def refs(store: Store, given: Iterable[EventRow | None]) -> tuple[Ref, ...]:
    """Return references to events; those without content are left out."""
    found = [plain_event_ref(store, event) for event in given if event is not None]
    return tuple(ref for ref in found if ref is not None)

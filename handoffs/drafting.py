"""A handoff from the ledger, without a model: what was asked, done, checked, and is still open.

Deterministic: the same ledger gives the same words. What an agent or a person said is quoted, what
was observed is cited. Aims at `DRAFT_BYTES`, so that it and the delta fit one briefing.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handoffs import validation
from handoffs.canonical import content_bytes
from handoffs.draft_material import Check, Material, collect, refs
from handoffs.ledger_facts import LedgerFacts, snapshot_ref
from handoffs.models import (
    DRAFT_BYTES,
    MAX_OMISSIONS,
    MAX_TEXT,
    ActorKind,
    Content,
    Disposition,
    EvidenceState,
    Omission,
    OmissionKind,
    ReceiptStatus,
    Ref,
    RefKind,
    Statement,
)
from handoffs.repository import snapshot
from handoffs.scrubbing import scrubbed
from handoffs.store import drafts
from ledger.gitstate import GitState
from ledger.model import EventRow, RunRow, Workstream
from ledger.visible import cut, show

if TYPE_CHECKING:
    from ledger.store import Store

REQUEST_BYTES: Final = 300
SAID_BYTES: Final = 500
OBJECTIVE_BYTES: Final = 600
PATHS: Final = 10
PLAN: Final = 6
_FAILED: Final = ("failed", "timed_out")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A statement and how gladly it is given up for the size: the greatest first."""

    rank: int
    statement: Statement


def draft(
    store: Store,
    workstream: Workstream,
    run: RunRow,
    state: GitState,
    active: set[int],
    *,
    recovery: bool = False,
) -> str | None:
    """Store the draft of a run that ended and return its prepared id.

    None when nothing visible happened in it, which leaves everything as it was. Inside the
    caller's transaction, under the run's token.
    """
    content = compose(store, workstream, run, state, active, recovery=recovery)
    if content is None:
        return None
    return drafts.replace(store, workstream, run, content, sessions=active, git=snapshot(state))


def compose(
    store: Store,
    workstream: Workstream,
    run: RunRow,
    state: GitState,
    active: set[int],
    *,
    recovery: bool = False,
) -> Content | None:
    """Return the content of a draft, valid and within its size, or None."""
    material = collect(store, workstream, run, active)
    if material is None:
        return None
    said = _statements(store, material, state)
    action, disposition, blocked = _next(store, material)
    if blocked is not None:
        said = [blocked, *said]
    omissions = _omissions(material, state, disposition, recovery=recovery)
    content = _fit(material, said, action, disposition, omissions)
    facts = LedgerFacts(
        store, material.workstream, Path(run.worktree), content=content, state=state
    )
    return _valid(content, facts)


# --- the parts ------------------------------------------------------------------------------------


def _objective(material: Material) -> str:
    event = material.inferred_from
    if event is None:  # the person's own words are not touched
        return show(material.objective)[:MAX_TEXT]
    text = _flat(material.objective, OBJECTIVE_BYTES)
    return f"{text} (inferred from the request e{event.seq} of {_day(event.occurred_at)})"


def _statements(store: Store, material: Material, state: GitState) -> list[_Said]:
    git = snapshot_ref(snapshot(state))
    trees: tuple[Ref, ...] = () if git is None else (git,)
    who = material.run.entry
    found = [_ended(store, material)]
    if material.asked:
        words = "; ".join(f"e{e.seq} {_quoted(e.text, REQUEST_BYTES)}" for e in material.asked)
        found.append(_said(1, f"The person asked: {words}", refs(store, material.asked)))
    for number, check in enumerate(material.checks):
        rank = 2 if number == 0 or str(check.status) in _FAILED else 7
        found.append(_said(rank, _check_words(check), (check.ref,)))
    if material.changed:
        found.append(_said(4, _changed_words(material), trees or _last(store, material)))
    if state.paths and git is not None:
        found.append(_said(6, _uncommitted(state), trees))
    open_items = [text for text, status in material.plan if status != "completed"]
    if open_items:
        done = len(material.plan) - len(open_items)
        listed = "; ".join(_quoted(text, 120) for text in open_items[:PLAN])
        more = len(open_items) - PLAN
        words = f"Open in the plan of {who} ({done} of {len(material.plan)} done): {listed}"
        words += f" and {more} more" if more > 0 else ""
        found.append(_said(3, words, refs(store, [material.plan_event])))
    if material.said is not None:
        words = _quoted(material.said.text, SAID_BYTES, keep="tail")
        text = f"{who} said last (e{material.said.seq}): {words}"
        found.append(_said(5, text, refs(store, [material.said])))
    if material.before is not None:
        found.append(_said(2, _before_words(material), _before_ref(material)))
    return found


def _ended(store: Store, material: Material) -> _Said:
    run = material.run
    state, error = material.turn or ("unknown", None)
    words = {
        "complete": "was answered",
        "interrupted": "was interrupted",
        "failed": "failed",
        "open": "was cut off",
    }.get(state, "ended in a way that is not recorded")
    text = f"The last turn of {run.entry} {words}"
    if error:
        text += f": {_quoted(error, 200)}"
    if run.signal is not None:
        text += f"; the program was ended by signal {run.signal}"
    elif run.exit_code:
        text += f"; the program ended with exit {run.exit_code}"
    if material.limit is not None:
        text += f"; its provider's limit was reached: {_quoted(material.limit, 160)}"
    return _said(0, text + ".", _last(store, material))


def _last(store: Store, material: Material) -> tuple[Ref, ...]:
    events = [material.said, *reversed(material.asked)]
    return refs(store, [max((e for e in events if e), key=lambda e: e.seq, default=None)])


def _check_words(check: Check) -> str:
    command = _code(check.command, 160)
    how = "ended without a known result"
    if str(check.status) == "passed":
        how = "exit 0"
    elif check.exit_code is not None:
        how = f"exit {check.exit_code}"
    if str(check.status) in _FAILED:
        how = f"failed ({how}" + (f", {check.failures} failures)" if check.failures else ")")
    elif str(check.status) == "unknown" and check.exit_code is not None:
        how += ", which does not tell whether it is green"
    after = "; files were changed after it" if check.changed_after else ""
    return f"Check {command} at {_moment(check.at)}: {how}{after}."


def _changed_words(material: Material) -> str:
    words = {"create": "created", "delete": "deleted", "edit": "edited"}
    named = [
        f"{_code(path, 120)} ({words.get(action, action)} by {entry})"
        for path, action, entry in material.changed[:PATHS]
    ]
    more = len(material.changed) - PATHS
    return "Changed files: " + ", ".join(named) + (f" and {more} more" if more > 0 else "")


def _uncommitted(state: GitState) -> str:
    named = [f"{entry[0]} {_code(path, 120)}" for path, entry in sorted(state.paths.items())]
    more = len(named) - PATHS
    head = "no commit" if state.head is None else state.head[:12]
    where = f"{show(state.branch, newline=False)} at {head}" if state.branch else head
    listed = ", ".join(named[:PATHS])
    return f"Uncommitted on {where}: {listed}" + (f" and {more} more" if more > 0 else "")


def _before_words(material: Material) -> str:
    before = material.before
    if before is None:
        return ""
    who = before.author.owner or before.author.harness or str(before.author.kind)
    text = f"This work followed the handoff {before.name} by {who} of {_day(before.created_at)}"
    text += f", objective {_quoted(before.content.objective, 160)}"
    if before.content.next_action is not None:
        text += f", next action {_quoted(before.content.next_action.text, 240)}"
    return f"{text}{_became(material)}."


def _became(material: Material) -> str:
    """Say what became of the handoff before: what its receiver answered and how it ended."""
    answer, outcome = material.answer, material.outcome
    if answer is None:
        return ""
    who = answer.receiver.owner or answer.receiver.harness or str(answer.receiver.kind)
    if answer.receiver.kind is ActorKind.AGENT and answer.receiver.harness:
        who = answer.receiver.harness
    if answer.status is ReceiptStatus.ACCEPTED:
        words = f"; {who} accepted it"
        if outcome is not None:
            words += f" and says it ended {outcome.status}: {_quoted(outcome.summary, 200)}"
        if outcome is not None and outcome.remaining:
            words += f", remaining: {_quoted('; '.join(outcome.remaining), 200)}"
        return words
    return f"; {who} gave it back as {answer.status}: {_quoted(answer.message or '', 200)}"


def _before_ref(material: Material) -> tuple[Ref, ...]:
    before = material.before
    if before is None:
        return ()
    return (Ref(kind=RefKind.HANDOFF, id=before.prepared_id, digest=before.content_digest),)


def _next(store: Store, material: Material) -> tuple[Statement | None, Disposition, _Said | None]:
    """Return the next action, the disposition, and the statement that blocks."""
    open_item = next((text for text, status in material.plan if status != "completed"), None)
    if open_item is not None:
        evidence = refs(store, [material.plan_event])
        text = f"Take up the first open plan item: {_quoted(open_item, REQUEST_BYTES)}"
        return Statement(text=text, evidence=evidence), Disposition.CONTINUABLE, None
    waiting = _unanswered(material)
    if waiting is not None:
        text = f"Answer the request e{waiting.seq}: {_quoted(waiting.text, REQUEST_BYTES)}"
        evidence = refs(store, [waiting])
        return Statement(text=text, evidence=evidence), Disposition.CONTINUABLE, None
    failing = next((c for c in material.checks if str(c.status) in _FAILED), None)
    if failing is not None:
        text = f"Find out why {_code(failing.command, 160)} fails, and mend it."
        statement = Statement(text=text, evidence=(failing.ref,))
        return statement, Disposition.CONTINUABLE, None
    said = material.said
    if said is not None and said.text.rstrip(" \n*_`)").endswith(("?", "？")):
        words = _quoted(said.text, REQUEST_BYTES, keep="tail")
        text = f"{material.run.entry} waits for an answer of the person (e{said.seq}): {words}"
        return None, Disposition.BLOCKED, _said(-1, text, refs(store, [said]))
    return None, Disposition.COMPLETE, None


def _unanswered(material: Material) -> EventRow | None:
    if not material.asked:
        return None
    last, said = material.asked[-1], material.said
    complete = material.turn is not None and material.turn[0] == "complete"
    if complete and said is not None and said.seq > last.seq:
        return None
    return last


def _omissions(
    material: Material, state: GitState, disposition: Disposition, *, recovery: bool
) -> list[Omission]:
    found = []
    if disposition is Disposition.COMPLETE:
        text = (
            "complete means here: the last request was answered and no open item is known;"
            " whether the objective is reached was not judged"
        )
        found.append(Omission(kind=OmissionKind.OTHER, text=text))
    if recovery:
        text = "the run was cut off: tree observed at recovery, not at the end"
        found.append(Omission(kind=OmissionKind.MISSING_HOST_STATE, text=text))
    if state.partial:
        text = f"the state of the work tree is not wholly known: {_flat(state.partial, 200)}"
        found.append(Omission(kind=OmissionKind.MISSING_HOST_STATE, text=text))
    if not material.checks:
        text = "no check is known to have run"
        found.append(Omission(kind=OmissionKind.UNVERIFIED_CHECK, text=text))
    return found


# --- size and validity ----------------------------------------------------------------------------


def _fit(
    material: Material,
    said: list[_Said],
    action: Statement | None,
    disposition: Disposition,
    omissions: list[Omission],
) -> Content:
    kept = list(said)
    dropped = 0
    while True:
        notes = list(omissions)
        if dropped:
            text = f"{dropped} statements were left out for size; `workstream log` has the events"
            notes.append(Omission(kind=OmissionKind.EXCLUDED_MATERIAL, text=text))
        content = scrubbed(
            Content(
                objective=_objective(material),
                state=tuple(item.statement for item in kept),
                disposition=disposition,
                next_action=action,
                blocker=0 if disposition is Disposition.BLOCKED else None,
                omissions=tuple(notes),
            )
        )
        if len(content_bytes(content)) <= DRAFT_BYTES or len(kept) <= 1:
            return content
        least = max(kept, key=lambda item: item.rank)
        kept.remove(least)
        dropped += 1


def _valid(content: Content, facts: LedgerFacts) -> Content:
    """Keep only evidence that is there, and add the omissions that the ledger asks for.

    The rules about words cannot fire: what others said is quoted, the rest is ours.
    """
    state = tuple(_cited(item, facts) for item in content.state)
    action = None if content.next_action is None else _cited(content.next_action, facts)
    content = replace(content, state=state, next_action=action)
    return _with_required(validation.with_declared_only(content), facts)


def _cited(item: Statement, facts: LedgerFacts) -> Statement:
    there = [ref for ref in item.evidence if facts.evidence(ref) is EvidenceState.AVAILABLE]
    return replace(item, evidence=tuple(there))


def _with_required(content: Content, facts: LedgerFacts) -> Content:
    needed = validation.required_omissions(content, facts)
    room = max(0, MAX_OMISSIONS - len(content.omissions))
    return replace(content, omissions=(*content.omissions, *needed[:room]))


# --- words ----------------------------------------------------------------------------------------


def _said(rank: int, text: str, evidence: tuple[Ref, ...]) -> _Said:
    return _Said(rank=rank, statement=Statement(text=text, evidence=evidence))


def _flat(text: str, limit: int, *, tail: bool = False) -> str:
    one_line = show(" ".join(text.split()), newline=False)
    return cut(one_line, limit, keep="tail" if tail else "head").text


def _quoted(text: str, limit: int, *, keep: str = "head") -> str:
    """Give somebody's words as a quotation that ends where it seems to end."""
    words = " ".join(text.split())
    flat = cut(show(words, newline=False), limit, keep="tail" if keep == "tail" else "head").text
    return '"' + flat.replace('"', "'").replace("`", "'") + '"'


def _code(text: str, limit: int) -> str:
    return "`" + _flat(" ".join(text.split()), limit).replace("`", "'") + "`"


def _day(ms: int) -> str:
    return f"{datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC):%Y-%m-%d}"


def _moment(ms: int) -> str:
    return f"{datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC):%Y-%m-%d %H:%M} UTC"

"""A handoff from the ledger, without a model: what was asked, done, checked, and is still open.

Deterministic: the same ledger gives the same words. What an agent or a person said is quoted, what
was observed is cited. Aims at `DRAFT_BYTES`, so that it and the delta fit one briefing.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handoffs import validation
from handoffs.canonical import content_bytes
from handoffs.draft_material import Material, collect
from handoffs.draft_next import next_step
from handoffs.draft_state import Said, statements
from handoffs.draft_words import day, flat
from handoffs.facts import Comparison
from handoffs.ledger_facts import LedgerFacts
from handoffs.models import (
    DRAFT_BYTES,
    MAX_OMISSIONS,
    MAX_TEXT,
    CheckStatus,
    Content,
    Disposition,
    EvidenceState,
    Omission,
    OmissionKind,
    Statement,
)
from handoffs.repository import snapshot
from handoffs.scrubbing import scrubbed
from handoffs.store import drafts
from ledger import workstreams
from ledger.gitstate import GitState
from ledger.model import RunRow, Workstream
from ledger.visible import show

if TYPE_CHECKING:
    from ledger.store import Store

OBJECTIVE_BYTES: Final = 600
COMPARE_MS: Final = 100
"""Time for comparing trees: every run that ends waits for it."""
_ROOM: Final = 2 * 1024
"""What the rest of a draft gets beside a long objective."""


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
    facts = LedgerFacts(
        store,
        workstreams.get(store, workstream.id),
        Path(run.worktree),
        state=state,
        compare_ms=COMPARE_MS,
    )
    material = collect(store, workstream, run, active, facts)
    if material is None:
        return None
    said = statements(store, material, state)
    action, disposition, blocked = next_step(store, material)
    if blocked is not None:
        said = [blocked, *said]
    omissions = _omissions(material, state, disposition, recovery=recovery)
    content = _fit(material, said, action, disposition, omissions)
    return _valid(_with_stale(content, material), facts)


# --- the parts ------------------------------------------------------------------------------------


def _objective(material: Material) -> str:
    event = material.inferred_from
    if event is None:  # the person's own words are not touched
        return show(material.objective)[:MAX_TEXT]
    text = flat(material.objective, OBJECTIVE_BYTES)
    return f"{text} (inferred from the request e{event.seq} of {day(event.occurred_at)})"


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
        text = f"the state of the work tree is not wholly known: {flat(state.partial, 200)}"
        found.append(Omission(kind=OmissionKind.MISSING_HOST_STATE, text=text))
    if not material.checks:
        text = "no check is known to have run"
        found.append(Omission(kind=OmissionKind.UNVERIFIED_CHECK, text=text))
    return found


# --- size and validity ----------------------------------------------------------------------------


def _fit(
    material: Material,
    said: list[Said],
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
        objective = len(content.objective.encode("utf-8", "replace"))
        room = max(DRAFT_BYTES, objective + _ROOM)
        if len(content_bytes(content)) <= room or len(kept) <= 1:
            return content
        least = max(kept, key=lambda item: item.rank)
        kept.remove(least)
        dropped += 1


def _with_stale(content: Content, material: Material) -> Content:
    """Say which of the passed checks that are told were run before files changed."""
    stale = {
        check.ref
        for check in material.checks
        if check.since is Comparison.CHANGED and check.status is CheckStatus.PASSED
    }
    covers = tuple(field for field, item in content.statements if stale.intersection(item.evidence))
    if not covers:
        return content
    text = "files changed after these checks"
    note = Omission(kind=OmissionKind.UNVERIFIED_CHECK, text=text, covers=covers)
    return replace(content, omissions=(*content.omissions, note))


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

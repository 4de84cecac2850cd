"""Receiving: one exact handoff, what became of its evidence, how the live tree stands to it.

Nothing here writes. What is received is history; it grants nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from handoffs import repository
from handoffs.ledger_facts import STATE_MS, LedgerFacts, evidence_checks
from handoffs.models import EvidenceCheck, EvidenceState, GitRelation, LiveObserved
from handoffs.store import reading
from handoffs.store.reading import Found, Origin
from ledger import git, workstreams
from ledger.gitstate import GitState
from ledger.model import Workstream

if TYPE_CHECKING:
    from ledger.store import Store

TRUST: Final = "untrusted_history"


class Received(NamedTuple):
    """A handoff as its receiver gets it."""

    found: Found
    head: tuple[int, str] | None
    """(revision, content digest) of the head now."""
    superseded: bool
    evidence: tuple[EvidenceCheck, ...]
    live_observed: LiveObserved

    @property
    def reestablish(self) -> tuple[str, ...]:
        """Fields whose evidence cannot be read as it was: to be established anew before use."""
        return tuple(
            item.field for item in self.evidence if item.state is not EvidenceState.AVAILABLE
        )


def receive(
    store: Store,
    workstream: Workstream,
    name: str,
    worktree: Path | None,
    *,
    state: GitState | None = None,
) -> Received | None:
    """Return what a name means, frozen to an exact target; None for `latest` before any commit.

    Raises UnavailableError and UsageError for names that mean nothing.
    """
    if name.strip() == reading.LATEST and reading.head_numbers(store, workstream) is None:
        return None
    found = reading.exact(store, workstream, name)
    return observe(store, workstream, found, worktree, state=state)


def observe(
    store: Store,
    workstream: Workstream,
    found: Found,
    worktree: Path | None,
    *,
    state: GitState | None = None,
) -> Received:
    """Return an exact handoff with what is so now."""
    if worktree is not None and state is None:
        state = git.state(worktree, timeout_ms=STATE_MS)
    scope = workstream if found.source_id is None else workstreams.get(store, found.source_id)
    facts = LedgerFacts(store, scope, worktree, content=found.content, state=state)
    head = reading.head_numbers(store, workstream)
    return Received(
        found=found,
        head=head,
        superseded=is_superseded(found, head),
        evidence=evidence_checks(facts, found.content),
        live_observed=_live(found, worktree, state),
    )


def is_superseded(found: Found, head: tuple[int, str] | None) -> bool:
    """Tell whether a newer revision stands in its place."""
    if found.origin is not Origin.REVISION or head is None or found.revision is None:
        return False
    return head[0] > found.revision


def _live(found: Found, worktree: Path | None, state: GitState | None) -> LiveObserved:
    if worktree is None or state is None or found.git is None:
        return LiveObserved(relation=GitRelation.UNKNOWN, dirty=None)
    dirty = None if state.dirty_digest is None else bool(state.paths)
    return LiveObserved(
        relation=repository.relation(worktree, found.git.head, state.head), dirty=dirty
    )

"""The handoff inside a briefing: which one, for whom, in which form, and how to acknowledge it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from handoffs.models import ActorKind, GitRelation
from handoffs.rendering import Form, Handed, render
from handoffs.store import leading, receiving
from handoffs.store.receiving import Received
from ledger.gitstate import GitState
from ledger.model import SessionRow, Workstream
from ledger.store import Store

_RELATIONS = {
    GitRelation.SAME: "head is the one that was handed off",
    GitRelation.AHEAD: "head is ahead of the one that was handed off",
    GitRelation.BEHIND: "head is behind the one that was handed off",
    GitRelation.DIVERGED: "head has DIVERGED from the one that was handed off",
    GitRelation.UNKNOWN: "how head stands to the one that was handed off is not known",
}


class Carried(NamedTuple):
    """A handoff that a briefing carries."""

    digest: str
    title: str
    lines: Callable[[int], list[str]]
    """Its lines for a number of bytes, prefixes included; a pointer for too few."""


class Leading:
    """The leading handoff of a workstream, looked at once for all receivers of a run."""

    def __init__(self) -> None:
        self._known: dict[int, Received | None] = {}

    def of(
        self, store: Store, workstream: Workstream, worktree: Path, state: GitState
    ) -> Received | None:
        """Return it with what became of its evidence, None when there is none."""
        if workstream.id not in self._known:
            found = leading.leading(store, workstream)
            self._known[workstream.id] = (
                None
                if found is None
                else receiving.observe(store, workstream, found, worktree, state=state)
            )
        return self._known[workstream.id]


def carried(
    store: Store,
    received: Received | None,
    receiver: SessionRow | None,
    *,
    command: str,
    purpose: str,
) -> Carried | None:
    """Return the handoff for a receiver, None when there is none that is news to it.

    For `compact` its facts and objective are carried, without a next action.
    """
    if received is None or not leading.due_to(store, received.found, receiver):
        return None
    found = received.found
    content = found.content
    if purpose == "compact":
        content = replace(content, next_action=None)
    handed = Handed(
        content=content,
        content_digest=found.content_digest,
        prepared_id=found.prepared_id,
        revision=found.revision,
        author=found.author,
        at=found.created_at,
        evidence=received.evidence,
        superseded=received.superseded,
    )
    after = _around(received, command) if purpose != "compact" else []

    def lines(room: int) -> list[str]:
        extra = sum(len(line.encode()) + 3 for line in after)
        rendered = render(handed, budget=room - extra, command=command)
        said = list(rendered.lines)
        return said if rendered.form is Form.POINTER else [*said, *after]

    return Carried(digest=found.content_digest, title=_title(received), lines=lines)


def _title(received: Received) -> str:
    kind = received.found.author.kind
    if kind is ActorKind.HUMAN:
        return "Handoff [person]"
    if kind is ActorKind.AGENT:
        return "Handoff [agent]"
    return "Handoff, drafted from the record without a model [fact]"


def _around(received: Received, command: str) -> list[str]:
    """Return what is so now, and the one command that acknowledges."""
    live = received.live_observed
    dirty = {True: "; there are uncommitted changes", False: "; nothing is uncommitted"}
    lines = [f"[fact] live tree: {_RELATIONS[live.relation]}{dirty.get(bool(live.dirty), '')}"]
    if live.dirty is None:
        lines = [f"[fact] live tree: {_RELATIONS[live.relation]}"]
    if received.reestablish:
        lines.append(f"re-establish before use: {', '.join(received.reestablish)}")
    lines.append(
        f"When you take this up, say so once: {command} handoff acknowledge"
        f" {received.found.name} accepted --confirmed live_state,capability,authorization"
        " (or: needs_clarification | declined, with --message WHY)"
    )
    return lines

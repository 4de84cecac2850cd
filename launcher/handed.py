"""The handoff inside a briefing: which one, for whom, in which form, and how to acknowledge it.

Beside it stands what waits: the handoff that this session was shown and nobody answered, or the
answer that gave one back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from handoffs.models import ActorKind, GitRelation
from handoffs.rendering import Form, Handed, render, size
from handoffs.store import leading, reading, receiving
from handoffs.store.leading import Waiting
from handoffs.store.reading import Found
from handoffs.store.receiving import Received
from handoffs.store.rows import StoredReceipt
from ledger.errors import BadDataError, UnavailableError
from ledger.gitstate import GitState
from ledger.model import SessionRow, Workstream
from ledger.store import Store
from ledger.visible import cut, show

QUOTED_BYTES: Final = 200
"""Most that is quoted of an objective or a message in a notice."""

_RELATIONS = {
    GitRelation.SAME: "head is the one that was handed off",
    GitRelation.AHEAD: "head is ahead of the one that was handed off",
    GitRelation.BEHIND: "head is behind the one that was handed off",
    GitRelation.DIVERGED: "head has DIVERGED from the one that was handed off",
    GitRelation.UNKNOWN: "how head stands to the one that was handed off is not known",
}


class Carried(NamedTuple):
    """A handoff that a briefing carries, or a notice about one."""

    digest: str | None
    """Content digest of the handoff that is delivered with it; None: it delivers none."""
    title: str
    lines: Callable[[int], list[str]]
    """Its lines for a number of bytes, prefixes included; a pointer for too few."""


class Leading:
    """The leading handoff of a workstream, looked at once for all receivers of a run."""

    def __init__(self) -> None:
        self._known: dict[int, Received | None] = {}
        self._waiting: dict[int, Waiting] = {}

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

    def waiting(self, store: Store, workstream: Workstream) -> Waiting:
        """Return what waits for an answer there."""
        if workstream.id not in self._waiting:
            self._waiting[workstream.id] = leading.waiting(store, workstream)
        return self._waiting[workstream.id]


def carried(
    store: Store,
    received: Received | None,
    receiver: SessionRow | None,
    waits: Waiting,
    *,
    command: str,
    purpose: str,
    told: bool = False,
) -> Carried | None:
    """Return the handoff for a receiver, None when there is none that is news to it.

    For `compact` its facts and objective are carried, without a next action.
    """
    if received is None or not leading.due_to(store, received.found, receiver, told=told):
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
        warnings=found.warnings,
    )
    after = _around(received, waits, command) if purpose != "compact" else []

    def lines(room: int) -> list[str]:
        full = render(handed, budget=room - size(after), command=command)
        if full.form is Form.FULL:
            return [*full.lines, *after]
        less = after[:-1] if found.author.kind is ActorKind.LAUNCHER else after
        rendered = render(handed, budget=room - size(less), command=command)
        said = list(rendered.lines)
        return said if rendered.form is Form.POINTER else [*said, *less]

    return Carried(digest=found.content_digest, title=_title(received), lines=lines)


def _title(received: Received) -> str:
    kind = received.found.author.kind
    if kind is ActorKind.HUMAN:
        return "Handoff [person]"
    if kind is ActorKind.AGENT:
        return "Handoff [agent]"
    return "Handoff, drafted from the record without a model [fact]"


def notice(
    store: Store,
    waits: Waiting,
    receiver: SessionRow | None,
    *,
    command: str,
    purpose: str,
    told: bool = False,
) -> Carried | None:
    """Return what waits for this receiver, in one line or two, or None.

    A handoff that it was shown and nobody answered is delivered once more, as a pointer with the
    one command that answers it. What another one gave back is told to it once.
    """
    if purpose != "session":
        return None
    found = leading.asked_again(store, waits, receiver, told=told)
    if found is not None:
        asked = f"[fact] {found.name} {_by(found)} was shown to you and has no answer yet: "
        lines = [
            asked + _quoted(found.content.objective),
            f"Answer once: {_command(found, command)}",
        ]
        return Carried(found.content_digest, "Handoff, not answered yet", _stepping_down(lines))
    back = leading.came_back(store, waits, receiver, told=told)
    if back is None or receiver is None:
        return None
    lines = [
        _given_back(back, _answered(store, back, receiver)),
        f"Replace it with a complete one: {command} handoff prepare, handoff commit",
    ]
    return Carried(None, "Handoff, given back", _stepping_down(lines, keep=0))


def _stepping_down(lines: list[str], *, keep: int = -1) -> Callable[[int], list[str]]:
    """Give all lines where they fit, else the one at `keep`, which always has to be said."""
    return lambda room: lines if size(lines) <= room else [lines[keep]]


def _by(found: Found) -> str:
    author = found.author
    who = author.owner if author.kind is ActorKind.HUMAN else author.harness
    return f"by {_name(who or str(author.kind))}"


def _answered(store: Store, last: StoredReceipt, receiver: SessionRow) -> str:
    """Return how a command names what a receipt answers: `r3`, a prepared id, else its digest."""
    target = last.receipt.target
    if target.revision is not None:
        return f"r{target.revision}"
    try:
        return reading.exact(store, receiver.workstream, target.content_digest).name
    except (UnavailableError, BadDataError):
        return target.content_digest


def _given_back(last: StoredReceipt, name: str) -> str:
    receipt = last.receipt
    kind = "person" if receipt.receiver.kind is ActorKind.HUMAN else "agent"
    who = receipt.receiver.owner if kind == "person" else receipt.receiver.harness
    return (
        f"[{kind}] {_name(who or kind)} gave the handoff {name} back as {receipt.status}:"
        f" {_quoted(receipt.message or '')}"
    )


def _name(text: str) -> str:
    return cut(show(text, newline=False), 80, keep="head").text


def _quoted(text: str) -> str:
    flat = show(" ".join(text.split()), newline=False)
    return '"' + cut(flat, QUOTED_BYTES, keep="head").text.replace('"', "'") + '"'


def _command(found: Found, command: str) -> str:
    return (
        f"{command} handoff acknowledge {found.name} accepted"
        " --confirmed live_state,capability,authorization"
        " (or: needs_clarification | declined, with --message WHY)"
    )


def _around(received: Received, waits: Waiting, command: str) -> list[str]:
    """Return what is so now, and the one command that acknowledges."""
    live, found = received.live_observed, received.found
    dirty = {True: "; there are uncommitted changes", False: "; nothing is uncommitted"}
    lines = [f"[fact] live tree: {_RELATIONS[live.relation]}{dirty.get(bool(live.dirty), '')}"]
    if live.dirty is None:
        lines = [f"[fact] live tree: {_RELATIONS[live.relation]}"]
    if received.reestablish:
        lines.append(f"re-establish before use: {', '.join(received.reestablish)}")
    back = waits.returned
    if back is not None and back.receipt.target.content_digest == found.content_digest:
        lines.append(_given_back(back, found.name))
    asked = "When you take this up, say so once"
    if found.author.kind is ActorKind.LAUNCHER:
        asked = "No answer is expected to a draft; to take it up on record"
    lines.append(f"{asked}: {_command(found, command)}")
    return lines

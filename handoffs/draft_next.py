"""What a draft says is to be done next, and whether the work can go on.

The plan of the run comes first, then what was asked and not answered, a failing check, an agent's
question, and the plan of an earlier run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handoffs.draft_material import FAILED, Material, refs
from handoffs.draft_state import REQUEST_BYTES, Said, said
from handoffs.draft_words import code, day, quoted
from handoffs.models import Disposition, Ref, Statement
from ledger.model import EventRow

if TYPE_CHECKING:
    from ledger.store import Store


Step = tuple[Statement | None, Disposition, Said | None]
"""The next action, the disposition, and the statement that blocks."""


def next_step(store: Store, material: Material) -> Step:
    """Return how the work can go on."""
    plan = material.plan
    if plan is not None and plan.open and not plan.older:
        text = f"Take up the first open plan item: {quoted(plan.open[0], REQUEST_BYTES)}"
        return _action(text, refs(store, [plan.event]))
    waiting = _waiting(material)
    if waiting is not None:
        return _action(_waiting_words(material, waiting), refs(store, [waiting]))
    failing = next((c for c in material.checks if c.status in FAILED), None)
    if failing is not None:
        text = f"Find out why {code(failing.command, 160)} fails, and mend it."
        return _action(text, (failing.ref,))
    last = material.talk.said
    if last is not None and last.text.rstrip(" \n*_`)").endswith(("?", "？")):
        words = quoted(last.text, REQUEST_BYTES, keep="tail")
        text = f"{material.run.entry} waits for an answer of the person (e{last.seq}): {words}"
        return None, Disposition.BLOCKED, said(-1, text, refs(store, [last]))
    if plan is not None and plan.open:
        text = f"Take up the plan of {plan.entry} of {day(plan.at)} where it still stands:"
        text += f" {quoted(plan.open[0], REQUEST_BYTES)}"
        return _action(text, refs(store, [plan.event]))
    return None, Disposition.COMPLETE, None


def _action(text: str, evidence: tuple[Ref, ...]) -> Step:
    return Statement(text=text, evidence=evidence), Disposition.CONTINUABLE, None


def _waiting(material: Material) -> EventRow | None:
    """Return the person's last message, when no complete turn answered it."""
    talk = material.talk
    if not talk.asked:
        return None
    last, answer = talk.asked[-1], talk.said
    complete = material.turn is not None and material.turn[0] == "complete"
    if complete and answer is not None and answer.seq > last.seq:
        return None
    return last


def _waiting_words(material: Material, waiting: EventRow) -> str:
    """Name the request; a bare "yes" is nothing without what it answers."""
    text = f"Answer the request e{waiting.seq}: {quoted(waiting.text, REQUEST_BYTES)}"
    answered = material.talk.answered
    if answered is None:
        return text
    words = quoted(answered.text, REQUEST_BYTES, keep="tail")
    return f"{text}, said to e{answered.seq}: {words}"

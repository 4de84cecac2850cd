"""From what a person or an agent wrote, JSON or Markdown, to a content that was checked."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from handoffs import parsing, validation
from handoffs.errors import RefusedError
from handoffs.ledger_facts import LedgerFacts
from handoffs.models import Content, Finding, errors
from handoffs.parsing import Parsed
from handoffs.resolver import Resolver
from handoffs.scrubbing import scrubbed
from ledger.model import Workstream
from ledger.store import Store

_MENDED: Final = frozenset(
    (
        *("evidence_missing", "evidence_changed", "evidence_expired", "evidence_unauthorized"),
        *("evidence_wrong_scope", "check_claim_uncited", "check_claim_wrong_evidence"),
        *("check_claim_contradicted", "check_claim_stale", "omission_required"),
        "observation_missing",
    )
)
"""Codes that may be gone once all records of the run are imported."""


def parsed(store: Store, workstream: Workstream, worktree: Path, text: str) -> Parsed:
    """Return what a JSON document or its Markdown form says, evidence resolved."""
    resolve = Resolver(store, workstream, worktree)
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return parsing.parse_content(text, resolve=resolve)
    from handoffs import markdown

    return markdown.from_markdown(text, resolve=resolve)


def checked(
    store: Store,
    workstream: Workstream,
    worktree: Path,
    made: Parsed,
    *,
    around: tuple[Finding, ...] = (),
    objective: str | None = None,
    author: int | None = None,
) -> tuple[Content, LedgerFacts]:
    """Return the content, scrubbed, with the facts it is to be checked against.

    `author` is the session row of the agent that wrote it. Raises RefusedError with all findings,
    of its shape, of its words and of the occasion (`around`) alike.
    """
    content = None if made.content is None else scrubbed(made.content)
    facts = LedgerFacts(store, workstream, worktree, content=content, author=author)
    if content is None or errors(made.findings) or errors(around):
        found = validation.findings_of(made, facts, expected_objective=objective)
        raise RefusedError("the handoff cannot be prepared like this", (*found, *around))
    return content, facts


def findings(
    store: Store, workstream: Workstream, worktree: Path, made: Parsed
) -> tuple[Finding, ...]:
    """Return all findings about something parsed."""
    facts = LedgerFacts(store, workstream, worktree, content=made.content)
    return validation.findings_of(made, facts)


def refuse_hopeless(
    store: Store,
    workstream: Workstream,
    worktree: Path,
    text: str,
    *,
    around: tuple[Finding, ...] = (),
) -> None:
    """Raise RefusedError for what no later import can mend: shape and words, never evidence.

    `around` is what was found about the occasion.
    """
    made = parsed(store, workstream, worktree, text)
    found = (*findings(store, workstream, worktree, made), *around)
    hopeless = tuple(
        item for item in found if item.code not in _MENDED or item.facts.get("malformed")
    )
    validation.refuse(hopeless, "the handoff cannot be prepared like this")

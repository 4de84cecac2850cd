"""Telling who wrote a draft: as JSON, as comments of its Markdown form, as lines on stderr."""

from __future__ import annotations

from typing import Any

from handoffs.errors import RefusedError
from handoffs.models import ActorKind, Author
from launcher.handing.agent_draft import AgentDraft
from launcher.handing.bench import tell_findings
from launcher.handing.documents import author_document
from launcher.output import error_entry, plural, say

LEDGER = Author(kind=ActorKind.LAUNCHER)
"""Author of what is made from the ledger."""


def source_document(asked: AgentDraft | None, prepared_id: str | None = None) -> dict[str, Any]:
    """Return where a draft comes from: who wrote it, and who was asked how often.

    `prepared_id` is the name under which an agent's words are kept.
    """
    from_agent = asked is not None and asked.content is not None
    author = asked.author if asked is not None and from_agent else LEDGER
    return {
        "author": author_document(author),
        "prepared_id": prepared_id,
        "asked": None if asked is None else _asked_document(asked),
    }


def _asked_document(asked: AgentDraft) -> dict[str, Any]:
    return {
        "harness": asked.entry,
        "session": None if asked.session is None else asked.session.native_id,
        "attempts": [
            {"findings": [item.value() for item in attempt.findings], "problem": attempt.problem}
            for attempt in asked.attempts
        ],
        "failure": None if asked.failure is None else error_entry(asked.failure),
    }


def comments(asked: AgentDraft, *, kept: bool) -> tuple[str, ...]:
    """Return what the Markdown form says of its origin; not read when it is prepared."""
    if asked.content is None:
        why = "" if asked.failure is None else f": {_reason(asked)}"
        return (f"Made from the ledger; {asked.entry} was asked for it in vain{why}.",)
    session = "" if asked.session is None else f", session {asked.session.native_id}"
    stays = f" Prepared unchanged it is recorded as {asked.entry}'s, edited as yours."
    return (f"Written by {asked.entry}{session}, when it was asked.{stays if kept else ''}",)


def tell_success(asked: AgentDraft, *, kept: bool) -> None:
    """Say that the agent wrote it, and what is not perfect about it."""
    attempts = plural(len(asked.attempts), "attempt")
    stays = "; prepare it unchanged, and it stays its own" if kept else ""
    say(f"{asked.entry} wrote this in {attempts}{stays}")
    tell_findings(asked.warnings)


def tell_fallback(asked: AgentDraft) -> None:
    """Say why the ledger's draft takes the place of the agent's, with all findings."""
    say(f"no handoff by {asked.entry}: {_reason(asked)}")
    if isinstance(asked.failure, RefusedError):
        tell_findings(asked.failure.findings)
    say("this draft is made from the ledger instead")


def _reason(asked: AgentDraft) -> str:
    failure = asked.failure
    if failure is None:
        return "it gave none"
    told = failure.detail is None or isinstance(failure, RefusedError)  # findings tell more
    return failure.message if told else f"{failure.message} ({failure.detail})"

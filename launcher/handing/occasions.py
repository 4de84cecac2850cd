"""Why a handoff is prepared, as a command line gives it, and what was observed of its session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

from handoffs import occasion, validation
from handoffs.models import ActorKind, Finding, HostObservation, Reason, errors
from handoffs.occasion import BY_HAND, FROM_STORE, Occasion
from handoffs.policy import in_words
from handoffs.store.occasions import Kept
from launcher.output import duration, plural
from ledger.visible import show

F = TypeVar("F", bound=Callable[..., Any])


class Given(NamedTuple):
    """What was given by hand, as it was typed."""

    reasons: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()
    said_by: str | None = None

    def payload(self) -> dict[str, object]:
        """Return it as a receipt carries it."""
        return {
            "reasons": list(self.reasons),
            "observed": list(self.observed),
            "said_by": self.said_by,
        }


def options(command: F) -> F:
    """Add the options that say why, what was observed, and who says so."""
    for option in (
        click.option(
            "--said-by",
            metavar="TEXT",
            help="Who says that the context got bad, and why (context_quality).",
        ),
        click.option(
            "--observed",
            multiple=True,
            metavar="K=N,...",
            help="Figures the harness shows: context_tokens, limit_tokens, compactions,"
            " age_seconds, model.",
        ),
        click.option(
            "--reason",
            "words",
            multiple=True,
            metavar="R",
            help=f"Why it is made: {', '.join(Reason)}.",
        ),
    ):
        command = option(command)
    return command


def parsed(given: Given, by: ActorKind) -> tuple[Occasion, tuple[Finding, ...]]:
    """Return what was given, and what is wrong with its shape."""
    return occasion.parse(given.reasons, given.observed, given.said_by, by=str(by))


def observed(
    given: Given, by: ActorKind, recorded: tuple[HostObservation, ...]
) -> tuple[Occasion, tuple[Finding, ...]]:
    """Return the whole occasion, with what the session store has, and all findings about it."""
    made, findings = parsed(given, by)
    made = made._replace(observations=(*made.observations, *recorded))
    return made, (*findings, *errors(occasion.unsupported(made)))


def demand(given: Given, by: ActorKind, recorded: tuple[HostObservation, ...]) -> None:
    """Raise RefusedError with all findings about an occasion, before words are looked at."""
    _, findings = observed(given, by, recorded)
    validation.refuse(findings, "the handoff cannot be prepared for these reasons")


# --- for people -----------------------------------------------------------------------------------


def document(kept: Kept | None) -> dict[str, Any]:
    """Return what is kept beside a handoff's words; nulls once it is gone."""
    if kept is None:
        return {"reasons": None, "statement": None, "observations": None, "policy": None}
    why = kept.occasion
    return {
        "reasons": [str(reason) for reason in why.reasons],
        "statement": why.statement,
        "observations": [item._asdict() for item in why.observations],
        "policy": kept.policy,
    }


def lines(kept: Kept | None) -> list[str]:
    """Return the same in lines."""
    if kept is None:
        return []
    why, policy = kept.occasion, kept.policy
    said = []
    if why.reasons:
        said.append(f"prepared for: {', '.join(why.reasons)}")
    if why.statement is not None:
        said.append(f"said by: {show(why.statement, newline=False)}")
    if policy is not None:
        at, signs = policy["boundary"], ", ".join(policy["signs"])
        where = "" if at is None else f", at the end of turn {at['turn']} ({at['state']})"
        said.append(f"by the rollover policy {policy['level']}: {signs}{where}")
    said += [f"observed then, untrusted: {line(item)}" for item in why.observations]
    return said


def line(item: HostObservation) -> str:
    """Return an observation for a person: figures, source, how old they were."""
    parts = [in_words(item.context_tokens, item.limit_tokens)]
    if item.compactions is not None:
        parts.append(plural(item.compactions, "compaction"))
    if item.model is not None:
        parts.append(show(item.model, newline=False))
    source = show(item.source, newline=False)
    if item.source.startswith(FROM_STORE):
        entry, _, native_id = source.removeprefix(FROM_STORE).partition(":")
        source = f"session store of {entry}, session {native_id}"
    elif item.source.startswith(BY_HAND):
        source = f"given by {source.removeprefix(BY_HAND)}"
    if item.age_seconds is not None:
        source += f", {duration(item.age_seconds * 1000)} old"
    return f"{', '.join(parts)} ({source})"

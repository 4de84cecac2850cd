"""Context pressure: how full the sessions are that a run would resume, and what to do about it.

Only what the native stores say; where they say nothing, nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handoffs import policy
from handoffs.policy import Sign, Thresholds
from ledger import facts, runs, sessions
from ledger.model import SessionRow, Workstream
from ledger.store import Store

if TYPE_CHECKING:
    from launcher.config import Config

AT_ONCE_MS: Final = 60_000
"""A run that is over this soon did not do any work."""
STORE: Final = "session_store"
"""Where figures come from."""


class Full(NamedTuple):
    """A current session that is better not resumed."""

    entry: str
    session: int
    signs: tuple[Sign, ...]
    why: str
    """In words, after "its"."""

    @property
    def advice(self) -> str:
        """What is so, and the command."""
        return f"{self.entry}: {self.why}; {fresh(self.entry)}"


def thresholds(config: Config) -> Thresholds:
    """Return from where on a session counts as full, as the person configured it."""
    return Thresholds(*config.full)


def fresh(entry: str) -> str:
    """Return how to go on in a new session."""
    return f"start afresh: workstream run --rollover {entry}"


def full(
    store: Store,
    workstream: Workstream,
    limits: Thresholds,
    *,
    only: Collection[int] | None = None,
) -> list[Full]:
    """Return the current sessions that are full; `only` those of these rows."""
    current = {link.session: link.entry for link in sessions.links(store, workstream)}
    wanted = sorted(number for number in current if only is None or number in only)
    found = facts.pressure(store, wanted)
    return [
        Full(current[number], number, signs, _why(found[number], signs))
        for number in wanted
        if (signs := policy.signs(found.get(number), limits))
    ]


def advice(store: Store, workstream: Workstream, limits: Thresholds) -> list[str]:
    """Return one line for each current session that is better not resumed, with the command."""
    return list(dict.fromkeys(item.advice for item in full(store, workstream, limits)))


def worn_out(store: Store, session: SessionRow, limits: Thresholds) -> str | None:
    """Return why a session should not be resumed once more, None when it may be.

    It is full, and the last run that resumed it ended at once without an answer; whatever other
    sessions were run since.
    """
    found = facts.pressure(store, [session.id]).get(session.id)
    signs = policy.signs(found, limits)
    last = runs.last_resume(store, session) if signs else None
    if found is None or last is None or last.spawned_at is None or last.ended_at is None:
        return None
    if last.ended_at - last.spawned_at > AT_ONCE_MS:
        return None
    if _answered(store, session, last.id, last.spawned_at):
        return None
    return f"the last run of this session ended at once without an answer, and {_why(found, signs)}"


def _answered(store: Store, session: SessionRow, run: str, since: int) -> bool:
    """Tell whether a turn was completed since a run began; by words, where turns are not told."""
    if facts.last_turn(store, session.id) is not None:
        return facts.answered_since(store, session.id, since)
    return bool(runs.imported(store, run).get("assistant_message"))


def _why(figures: facts.Pressure, signs: tuple[Sign, ...]) -> str:
    """Return the strongest sign in words."""
    percent = policy.percent(figures.context_tokens, figures.limit_tokens)
    words = {
        Sign.EXCEEDED: "its harness said that the context is full",
        Sign.PERCENT: f"its context is {percent} % full",
        Sign.TOKENS: f"its context holds {figures.context_tokens or 0:,} tokens",
        Sign.COMPACTIONS: f"its context was compacted {_times(figures.compactions)}",
    }
    return words[signs[0]]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


# --- for `status` ---------------------------------------------------------------------------------


def document(figures: facts.Pressure | None, now: int) -> dict[str, Any] | None:
    """Return the figures of a session as JSON values; None where its store has none."""
    if figures is None:
        return None
    from launcher.output import iso

    return {
        "tokens": figures.context_tokens,
        "limit": figures.limit_tokens,
        "percent": policy.percent(figures.context_tokens, figures.limit_tokens),
        "compactions": figures.compactions,
        "exceeded_at": iso(figures.exceeded_at),
        "model": figures.model,
        "source": STORE,
        "observed_at": iso(figures.at),
        "age_seconds": max(0, now - figures.at) // 1000,
    }


def line(context: Mapping[str, Any] | None) -> str:
    """Return such a document in words, with where it comes from and how old it is."""
    from launcher.output import duration, plural

    if context is None:
        return "context not known"
    parts = [policy.in_words(context["tokens"], context["limit"])]
    if context["exceeded_at"] is not None:
        parts.append("said to be full")
    if context["compactions"]:
        parts.append(plural(context["compactions"], "compaction"))
    age = duration(context["age_seconds"] * 1000)
    return f"{', '.join(parts)} (its store, {age} ago)"

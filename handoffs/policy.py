"""The rollover policy: what is done when a session is better not gone on with, and why.

Only what a harness recorded, or somebody gave by hand, is judged; without a signal nothing is said,
and nothing is estimated to fill a gap. The strongest thing that is ever done is to prepare a draft:
nothing is committed, and no session is closed or reset.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handoffs.models import HostObservation, Reason

if TYPE_CHECKING:
    from ledger.facts import Pressure


class Level(StrEnum):
    """How much is done about a full session."""

    MANUAL = "manual"
    """Its figures are in `status`."""
    ADVISORY = "advisory"
    """One line at the end of the run and in `status`, with the command."""
    AUTOMATIC_DRAFT = "automatic-draft"
    """A draft is prepared when the run ends at a safe boundary."""


class Action(StrEnum):
    """What was allowed, and done."""

    ADVISE = "advise"
    PREPARE_DRAFT = "prepare_draft"


class Sign(StrEnum):
    """What says that a session is full, the strongest first."""

    EXCEEDED = "exceeded"
    """Its harness said that a request did not fit any more."""
    PERCENT = "percent"
    TOKENS = "tokens"
    COMPACTIONS = "compactions"


REASONS: Final = {
    Sign.EXCEEDED: Reason.HOST_CONTEXT_BUDGET,
    Sign.PERCENT: Reason.HOST_CONTEXT_BUDGET,
    Sign.TOKENS: Reason.HOST_CONTEXT_BUDGET,
    Sign.COMPACTIONS: Reason.HOST_COMPACTION,
}
"""Why a handoff is made when a sign is seen."""


class Thresholds(NamedTuple):
    """From where on a session counts as full."""

    percent: int = 85
    """Of the window, where the harness records how large it is."""
    tokens: int | None = None
    """Tokens in the context, also where the window is not known; None: not looked at."""
    compactions: int = 2


class Boundary(NamedTuple):
    """A finished turn without an open tool call."""

    session: str
    """Native id."""
    turn: str
    state: str
    """complete, interrupted or failed"""


class PolicyRecord(NamedTuple):
    """What the policy saw and did."""

    level: Level
    thresholds: Thresholds
    observations: tuple[HostObservation, ...]
    signs: tuple[Sign, ...]
    boundary: Boundary | None
    action: Action

    def value(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "level": str(self.level),
            "thresholds": self.thresholds._asdict(),
            "observations": [item._asdict() for item in self.observations],
            "signs": [str(item) for item in self.signs],
            "boundary": None if self.boundary is None else self.boundary._asdict(),
            "action": str(self.action),
        }

    def text(self) -> str:
        """Return it as its column holds it."""
        return json.dumps(self.value(), ensure_ascii=False, sort_keys=True)


def percent(tokens: int | None, limit: int | None) -> int | None:
    """Return how full a context is, None where one of the two is not known."""
    return None if tokens is None or not limit else 100 * tokens // limit


def in_words(tokens: int | None, limit: int | None) -> str:
    """Return how full a context is; nothing is made up where it is not known."""
    if tokens is None:
        return "context not known"
    if not limit:
        return f"context {tokens:,} tokens, window not known"
    return f"context {percent(tokens, limit)} % of {limit:,} tokens"


def signs(figures: Pressure | None, thresholds: Thresholds) -> tuple[Sign, ...]:
    """Return what says that a session is full, the strongest first; nothing without a signal."""
    if figures is None:
        return ()
    tokens = figures.context_tokens
    share = percent(tokens, figures.limit_tokens)
    known = {
        Sign.EXCEEDED: figures.exceeded_at is not None,
        Sign.PERCENT: share is not None and share >= thresholds.percent,
        Sign.TOKENS: None not in (tokens, thresholds.tokens)
        and (tokens or 0) >= (thresholds.tokens or 0),
        Sign.COMPACTIONS: figures.compactions >= thresholds.compactions,
    }
    return tuple(sign for sign in Sign if known[sign])


def reasons(found: tuple[Sign, ...]) -> tuple[Reason, ...]:
    """Return the reasons that signs give, once each."""
    return tuple(dict.fromkeys(REASONS[sign] for sign in found))

"""What the ledger knows, as far as a handoff is checked against it.

`Facts` is what `handoffs.validation` asks; the store answers it from the database, and
`KnownFacts` from memory. Positions are any numbers that grow with time in one workstream and are
used by one implementation throughout (event sequence numbers, or milliseconds).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol

from handoffs.models import CheckStatus, EvidenceState, Ref


class Comparison(StrEnum):
    """Whether tracked content is what it was. Contents are compared, never heads."""

    SAME = "same"
    CHANGED = "changed"
    UNKNOWN = "unknown"


class CheckFact(NamedTuple):
    """One real run of a check."""

    id: str
    """As in `Ref.id` of kind check."""
    command: str
    status: CheckStatus
    """What `handoffs.check_outcome` made of it; unknown supports no pass claim."""
    exit_code: int | None
    failures: int | None = None
    """Failing items by its own summary, when it has one."""
    position: int = 0
    """When it ended."""
    tree: Comparison = Comparison.UNKNOWN
    """Tracked content now against tracked content when it ran."""


class Facts(Protocol):
    """Questions that validation asks the ledger about one workstream."""

    def evidence(self, ref: Ref) -> EvidenceState:
        """Return what became of a cited thing."""

    def check(self, ref: Ref) -> CheckFact | None:
        """Return the run that a ref of kind check names, None when there is none."""

    @property
    def last_check(self) -> CheckFact | None:
        """The newest check of the workstream."""

    @property
    def last_change(self) -> int | None:
        """Position of the newest change of a file, None when none is known."""

    @property
    def skipped_lines(self) -> int:
        """Lines that an importer could not read, since the head."""

    @property
    def redactions(self) -> int:
        """Secrets replaced in what the content is made from, or in the content itself."""

    @property
    def cut(self) -> int:
        """Events or statements left out because of a budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFacts:
    """Facts held in memory. Evidence that is not listed is missing."""

    states: Mapping[Ref, EvidenceState] = field(default_factory=dict)
    checks: Mapping[str, CheckFact] = field(default_factory=dict)
    """By check id."""
    last_check: CheckFact | None = None
    last_change: int | None = None
    skipped_lines: int = 0
    redactions: int = 0
    cut: int = 0

    def evidence(self, ref: Ref) -> EvidenceState:
        """Return what became of a cited thing."""
        return self.states.get(ref, EvidenceState.MISSING)

    def check(self, ref: Ref) -> CheckFact | None:
        """Return the run that a ref of kind check names."""
        return self.checks.get(ref.id)


def changed_since(check: CheckFact, last_change: int | None) -> Comparison:
    """Tell whether tracked content changed after a check ran.

    Compared trees decide. Where they cannot be compared, a file change after the check says
    changed, and its absence says nothing, for a shell command changes files unrecorded.
    """
    if check.tree is not Comparison.UNKNOWN:
        return check.tree
    if last_change is not None and last_change > check.position:
        return Comparison.CHANGED
    return Comparison.UNKNOWN

"""What handoffs refuse, with every finding.

BadDataError (65)
└── RefusedError             findings; nothing was written
BusyError (75)
├── HeadConflictError        the head is another revision than the base
└── LeaseLostError           the caller no longer holds the workstream
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ledger.errors import BadDataError, BusyError

if TYPE_CHECKING:
    from handoffs.models import Finding


class RefusedError(BadDataError):
    """A handoff, receipt or outcome was refused; `findings` has at least one error."""

    code = "handoff_refused"

    def __init__(
        self, message: str, findings: Sequence[Finding], *, next_step: str | None = None
    ) -> None:
        super().__init__(message, next_step=next_step, detail=_summary(findings))
        self.findings = tuple(findings)
        """All of them, warnings too, in the order of the content."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings, in order."""
        return tuple(item.code for item in self.findings)


def _summary(findings: Sequence[Finding]) -> str:
    first = [f"{item.field or 'handoff'}: {item.code}" for item in findings[:5]]
    more = len(findings) - len(first)
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")


class HeadConflictError(BusyError):
    """The head moved; nothing was written. Read the head and prepare a complete replacement."""

    code = "head_conflict"

    def __init__(self, message: str, *, facts: Mapping[str, object]) -> None:
        super().__init__(
            message,
            next_step="Read the head (`handoff receive latest`) and prepare a complete replacement",
        )
        self.facts = dict(facts)
        """expected_base and head {revision, content_digest, committed_at, by, objective}."""


class LeaseLostError(BusyError):
    """The caller does not hold the workstream's lease with the current fencing number."""

    code = "lease_lost"

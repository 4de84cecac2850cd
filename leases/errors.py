"""What can go wrong with a lease.

BusyError (75, ledger/errors.py)
├── LeaseHeld   busy         somebody runs this workstream
└── LeaseLost   lease_lost   it was ours and is not any more
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ledger.errors import BusyError
from ledger.fencing import LeaseLostError

if TYPE_CHECKING:
    from leases.holder import LeaseView
    from leases.verdict import Verdict


class LeaseHeld(BusyError):  # noqa: N818  (a fact about somebody else, not a fault)
    """Somebody else holds the lease; `view` and `verdict` say who and why it cannot be taken."""

    def __init__(self, view: LeaseView, verdict: Verdict, description: str) -> None:
        super().__init__(
            f"this workstream is running: {description}",
            next_step="Wait (--wait SECONDS), end it with `workstream stop`, or take over with"
            " --take-over.",
        )
        self.view = view
        self.verdict = verdict
        self.description = description
        """One line: harness, terminal, pid, since when, idle."""


LeaseLost = LeaseLostError
"""The lease was taken over or released: nothing may be moved under its token any more."""

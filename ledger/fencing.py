"""Whether a writer still holds the lease of its workstream, asked inside its own transaction.

The lease itself is `leases/`; this is only the reading end of its fencing token, so that links,
deliveries, runs and handoffs can refuse a holder that was taken over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ledger.errors import BusyError

if TYPE_CHECKING:
    from ledger.store import Store


class LeaseLostError(BusyError):
    """The lease was taken over or released: nothing of this holder may be moved any more."""

    code = "lease_lost"


def require(store: Store, workstream: int, token: int) -> None:
    """Return when `token` is the current token of a held lease.

    Call it inside the transaction that writes. Raises LeaseLostError.
    """
    row = store.one("SELECT token, run FROM lease WHERE workstream = ?", workstream)
    if row is not None and row["token"] == token and row["run"] is not None:
        return
    raise LeaseLostError(
        "this run no longer holds the lease of its workstream",
        next_step="What it did is still imported; `workstream status` shows who holds it now.",
    )

"""Acquire, renew, release and take over: the exclusive right to run a workstream.

The invariant this module protects: at most one token of a workstream is current, tokens only grow,
and whoever moves a link, a delivery or a handoff proves its token in the same transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from leases.holder import Holder, LeaseView
from leases.verdict import Verdict
from ledger.store import Store

TTL_MS: Final = 90_000
HEARTBEAT_MS: Final = TTL_MS // 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A lease that was acquired; valid as long as `check` says so."""

    workstream: int
    token: int
    run: str
    expires_at: int
    previous: LeaseView | None = None
    """Whoever held it before without releasing it."""
    verdict: Verdict | None = None
    """Why it could be taken from `previous`; `child_may_live` forbids resuming its session."""


def inspect(store: Store, workstream: int) -> LeaseView | None:
    """Return the lease row of a workstream; None when it was never leased."""
    raise NotImplementedError


def acquire(store: Store, workstream: int, holder: Holder, *, ttl_ms: int = TTL_MS) -> Lease:
    """Take a free, dead or lapsed lease; raise LeaseHeld otherwise."""
    raise NotImplementedError


def take_over(
    store: Store,
    workstream: int,
    holder: Holder,
    *,
    seen_token: int | None = None,
    ttl_ms: int = TTL_MS,
) -> Lease:
    """Replace whoever holds it, whatever state it is in; kills nobody."""
    raise NotImplementedError


def renew(store: Store, workstream: int, token: int, *, ttl_ms: int = TTL_MS) -> int:
    """Extend our lease, lapsed or not; return the new expiry. LeaseLost when taken or released."""
    raise NotImplementedError


def release(store: Store, workstream: int, token: int) -> bool:
    """Give it back; False when it was not ours any more."""
    raise NotImplementedError


def check(store: Store, workstream: int, token: int) -> None:
    """Raise LeaseLost unless `token` is current; call it inside the transaction that it guards."""
    raise NotImplementedError


def record_child(store: Store, workstream: int, token: int, pid: int, start: int) -> None:
    """Record the child that was spawned under this lease."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRun:
    """A live run of another workstream."""

    workstream: int
    name: str
    view: LeaseView
    description: str


def live_elsewhere(
    store: Store, worktree: str, *, workstream: int | None = None
) -> list[LiveRun]:
    """Return live runs of other workstreams in the same worktree."""
    raise NotImplementedError

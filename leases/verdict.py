"""Whether a lease may be taken: a pure function over the row and injected facts.

Same host, boot and pid namespace, first row that fits; `*` any, `lapsed` as told below:

    holder    child          lapsed   verdict
    free      *              *        take      free
    *         running        *        held      child_running
    dead      dead or none   *        take      holder_dead
    stopped   not running    yes      take      stopped
    dead      stopped        yes      take      stopped
    *         not running    yes      take      lapsed
    dead      not running    no       held      not_lapsed
    *         not running    no       held      holder_alive

Elsewhere:

    same host, earlier boot  *        take      earlier_boot
    other namespace or host  yes      take      lapsed
    other namespace or host  no       held      elsewhere

A process that this user may not see counts as "not running" here and as one that may live.

Lapsed: on the same host and boot the time since the last renewal counts, on a clock that runs
through suspend and that nobody can set; across hosts only the wall clock and `expires_at` are left.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from leases.holder import LeaseView, Place
from ledger.host import Life


class Why(StrEnum):
    """Reason of a verdict."""

    FREE = "free"
    HOLDER_DEAD = "holder_dead"
    """Holder and child are dead on this host."""
    EARLIER_BOOT = "earlier_boot"
    """The machine was started again since."""
    STOPPED = "stopped"
    """Suspended past the expiry."""
    LAPSED = "lapsed"
    """Not renewed in time."""
    CHILD_RUNNING = "child_running"
    HOLDER_ALIVE = "holder_alive"
    NOT_LAPSED = "not_lapsed"
    """Holder dead, child stopped or not visible, and not yet lapsed."""
    ELSEWHERE = "elsewhere"
    """On another host or in another pid namespace, and not lapsed."""


class Facts(NamedTuple):
    """What the judge may know."""

    place: Place
    """Where the judge runs."""
    now_ms: int
    boot_ms: int
    holder: Life
    """Life of the holder's process; only looked at in the same place."""
    child: Life | None
    """Life of the child; None: none was recorded."""


class Verdict(NamedTuple):
    """Whether the lease may be taken, and what that means for its session."""

    takeable: bool
    why: Why
    child_may_live: bool
    """The old child may still write to its native session: do not resume that one."""
    remaining_ms: int
    """Time until the expiry on the clock that counts; 0 when lapsed."""


def judge(view: LeaseView | None, facts: Facts) -> Verdict:
    """Apply the table."""
    if view is None or view.holder is None:
        return Verdict(takeable=True, why=Why.FREE, child_may_live=False, remaining_ms=0)
    there, here = view.holder.place, facts.place
    remaining = _remaining(view, facts)
    if there == here and here.boot_id:
        return _same_place(facts, remaining)
    if there.host_id == here.host_id and _different(there.boot_id, here.boot_id):
        return Verdict(takeable=True, why=Why.EARLIER_BOOT, child_may_live=False, remaining_ms=0)
    return Verdict(
        takeable=remaining == 0,
        why=Why.ELSEWHERE if remaining else Why.LAPSED,
        child_may_live=view.child_pid is not None,
        remaining_ms=remaining,
    )


def _same_place(facts: Facts, remaining: int) -> Verdict:
    child_gone = facts.child in (None, Life.DEAD)
    holder_dead = facts.holder is Life.DEAD
    if facts.child is Life.RUNNING:
        takeable, why = False, Why.CHILD_RUNNING
    elif holder_dead and child_gone:
        takeable, why = True, Why.HOLDER_DEAD
    elif remaining:
        takeable, why = False, Why.NOT_LAPSED if holder_dead else Why.HOLDER_ALIVE
    elif facts.holder is Life.STOPPED or (holder_dead and facts.child is Life.STOPPED):
        takeable, why = True, Why.STOPPED
    else:
        takeable, why = True, Why.LAPSED
    return Verdict(
        takeable=takeable, why=why, child_may_live=not child_gone, remaining_ms=remaining
    )


def _remaining(view: LeaseView, facts: Facts) -> int:
    """Return the milliseconds until the lease lapses; 0 when it has."""
    assert view.holder is not None  # noqa: S101  (the caller has looked)
    there, here = view.holder.place, facts.place
    same_kernel = there.host_id == here.host_id and there.boot_id == here.boot_id and here.boot_id
    if same_kernel:
        left = view.renewed_boot + (view.expires_at - view.renewed_at) - facts.boot_ms
    else:
        left = view.expires_at - facts.now_ms
    return max(0, left)


def _different(one: str, other: str) -> bool:
    return bool(one) and bool(other) and one != other

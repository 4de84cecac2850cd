"""Whether a lease may be taken: a pure function over the row and injected facts.

Rows of the table (same host, boot and pid namespace unless said otherwise; `*` any):

    holder    child          lapsed   verdict
    free      *              *        free
    *         running        *        held      child_running
    dead      dead or none   *        take      holder_dead
    stopped   not running    yes      take      stopped
    other     not running    yes      take      lapsed
    *         not running    no       held      holder_alive or not_lapsed
    on an earlier boot       *        take      earlier_boot
    another namespace/host   yes      take      lapsed
    another namespace/host   no       held      elsewhere
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the judge may know."""

    place: Place
    """Where the judge runs."""
    now_ms: int
    boot_ms: int
    holder: Life
    """Life of the holder's process; only looked at in the same place."""
    child: Life | None
    """Life of the child; None: none was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the lease may be taken, and what that means for its session."""

    takeable: bool
    why: Why
    child_may_live: bool
    """The old child may still write to its native session: do not resume that one."""
    remaining_ms: int
    """Time until the expiry on the clock that counts; 0 when lapsed."""


def judge(view: LeaseView | None, facts: Facts) -> Verdict:
    """Apply the table."""
    raise NotImplementedError

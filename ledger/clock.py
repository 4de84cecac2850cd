"""Time, from one place, so that tests can set it.

Wall-clock times are milliseconds since the Unix epoch. Durations that decide about a lease use
`boot_ms`, which runs through suspend and is not moved when the wall clock is set.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Source of time."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch."""

    def boot_ms(self) -> int:
        """Return milliseconds since boot, suspend included; monotone within one boot."""


class SystemClock:
    """The machine's own clocks."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def boot_ms(self) -> int:
        """Return CLOCK_BOOTTIME, or the monotonic clock where the platform lacks it."""
        clock = getattr(time, "CLOCK_BOOTTIME", None)
        if clock is None:
            return time.monotonic_ns() // 1_000_000
        return time.clock_gettime_ns(clock) // 1_000_000


SYSTEM = SystemClock()

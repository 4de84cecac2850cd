"""What a task is."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple
from zlib import crc32

from bench.handoff.facts import Truth
from bench.handoff.work import Work


class Task(NamedTuple):
    """A scripted piece of work."""

    name: str
    play: Callable[[Work], Truth]
    """Does everything that happens, and returns what is true afterwards."""

    @property
    def seed(self) -> int:
        """Seed of its filler; it depends on nothing but the name."""
        return crc32(self.name.encode())

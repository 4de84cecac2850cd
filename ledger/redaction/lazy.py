"""Patterns that are compiled when they are first needed.

A launch scrubs a command line and nothing more; compiling every rule for it would cost more
than the rest of the start.
"""

from __future__ import annotations

import re
from functools import cached_property


class Lazy:
    """A bytes pattern whose ``now`` is compiled at the first use and kept."""

    def __init__(self, source: bytes, flags: re.RegexFlag = re.NOFLAG) -> None:
        self._source = source
        self._flags = flags

    @cached_property
    def now(self) -> re.Pattern[bytes]:
        """The compiled pattern."""
        return re.compile(self._source, self._flags)

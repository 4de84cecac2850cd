"""What OMP's entries say: the shared format, with OMP's tools and lines of its own.

The first line is the title, of fixed width and written again in place; it stands before the header
and belongs to nothing. The program notes each start of a tool and each exit as `custom` entries.
"""

from __future__ import annotations

from typing import Any, ClassVar

from importers.calls import Tools
from importers.entries import EntryReader


class OmpReader(EntryReader):
    """Reads OMP's sessions."""

    tools: ClassVar[Tools] = Tools(
        shells=frozenset({"bash"}),
        readers=frozenset({"read"}),
        editors=frozenset({"edit"}),
        writers=frozenset({"write"}),
        searchers=frozenset({"grep", "find", "ls", "glob", "search"}),
        agents=frozenset({"task"}),
    )

    def is_side(self, value: dict[str, Any]) -> bool:
        """Return whether a line without an id is known to carry nothing: the title."""
        return value.get("type") == "title"

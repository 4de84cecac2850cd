"""What pi's entries say: the plain format, with pi's tools."""

from __future__ import annotations

from typing import ClassVar

from importers.calls import Tools
from importers.entries import EntryReader


class PiReader(EntryReader):
    """Reads pi's sessions."""

    tools: ClassVar[Tools] = Tools(
        shells=frozenset({"bash", "powershell", "shell"}),
        readers=frozenset({"read"}),
        editors=frozenset({"edit"}),
        writers=frozenset({"write"}),
        searchers=frozenset({"grep", "find", "ls"}),
    )

"""What a tool call is about: the command, the file, and what follows from its success.

A reader says which of a harness's tools run commands, read, change or search; the rest is the same
for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import msgspec

from importers import own_output
from importers.base import FileFact, Json

DETAIL: Final = 4096
"""Most characters of a command that are kept until its result comes."""
LABEL: Final = 400
"""Most characters of the JSON that stands for the input of a tool without a better word for it."""
PATHS: Final = (
    "file_path",
    "path",
    "filePath",
    "absolute_path",
    "filename",
    "file",
    "notebook_path",
)
PATTERNS: Final = ("pattern", "query", "path")
COMMANDS: Final = ("command", "cmd", "script")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """The tools of a harness, by what they do. Unlisted ones are shown by their input."""

    shells: frozenset[str] = frozenset()
    readers: frozenset[str] = frozenset()
    editors: frozenset[str] = frozenset()
    writers: frozenset[str] = frozenset()
    """They may create the file."""
    searchers: frozenset[str] = frozenset()
    agents: frozenset[str] = frozenset()
    paths: tuple[str, ...] = PATHS
    """Members of an input that name the file, best first."""
    commands: tuple[str, ...] = COMMANDS
    """Members of an input that hold the command: a text, or a list of words."""
    files: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", self.readers | self.editors | self.writers)

    def label(self, tool: str, given: Json) -> str:
        """Return what a person reads of a call; the whole input stays beside it, structured."""
        found = ""
        if tool in self.shells:
            found = self.command(given)
        elif tool in self.files:
            found = _first(given, self.paths)
        elif tool in self.searchers:
            found = _first(given, PATTERNS)
        elif tool in self.agents:
            found = _first(given, ("description", "prompt", "task"))
        return found or ("" if given in (None, {}, "") else _short(given))

    def detail(self, tool: str, given: Json) -> str:
        """Return what has to be remembered of a call until its result comes."""
        if tool in self.shells:
            return self.command(given)[:DETAIL]
        return _first(given, self.paths) if tool in self.files else ""

    def command(self, given: Json) -> str:
        """Return the command of a call of a shell, empty when there is none."""
        if not isinstance(given, dict):
            return given if isinstance(given, str) else ""
        for key in self.commands:
            value = given.get(key)
            if isinstance(value, str) and value:
                return value
            if isinstance(value, list) and value:
                return " ".join(str(word) for word in value)
        return ""

    def is_own(self, tool: str, given: Json) -> bool:
        """Return whether a call runs our own program, so that its output is history already."""
        return tool in self.shells and own_output.runs_us(self.command(given))

    def file_fact(self, tool: str, path: str, at: int, *, created: bool = False) -> FileFact | None:
        """Return what a successful call says about a file."""
        if not path or tool not in self.files:
            return None
        action = "read" if tool in self.readers else "edit"
        if created and tool in self.writers:
            action = "create"
        return FileFact(path=path, action=action, at=at)


def _first(given: Json, keys: tuple[str, ...]) -> str:
    if not isinstance(given, dict):
        return ""
    found = (given.get(key) for key in keys)
    return next((value for value in found if isinstance(value, str) and value), "")


def _short(value: Json) -> str:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= LABEL else text[:LABEL] + "…"

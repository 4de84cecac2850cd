"""Paths that no importer keeps: what the person's or the repository's `ignore` patterns name.

Tool calls on such a path, and their results, are left out whole and counted; file facts of them
too. Messages are kept: a person's and an agent's words are not a file's content.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import translate
from typing import Final

from importers.base import Batch, Event, FileFact, Item, Json, Kind, LeftOut

IGNORED: Final = "ignored_path"
_PATH_KEYS: Final = ("file_path", "path", "notebook_path", "filename", "files", "changes")
_WORD: Final = re.compile(r"[^\s'\"`|;&<>()=:,]+")


class Ignored:
    """Patterns as in a shell, against the path below the work tree, or against its last part.

    `secrets/*`, `*.pem`, `private/` (a directory with all that is in it). One object lives as long
    as one import of a session: it remembers the calls whose results are to be left out.
    """

    def __init__(self, patterns: Sequence[str], worktree: str) -> None:
        self._worktree = worktree.rstrip("/")
        self._patterns = [re.compile(translate(p.rstrip("/"))) for p in patterns if p.strip()]
        self._calls: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def matches(self, path: str) -> bool:
        """Return whether a path, absolute or as seen from the work tree, is to be left out."""
        plain = os.path.normpath(path)
        if plain.startswith(self._worktree + "/"):
            plain = plain[len(self._worktree) + 1 :]
        parts = [part for part in plain.split("/") if part]
        heads = ["/".join(parts[: n + 1]) for n in range(len(parts))]
        return any(p.match(c) for p in self._patterns for c in (*heads, *parts))

    def without(self, batch: Batch) -> Batch:
        """Return the batch without what is ignored; the count of it is added."""
        if not self._patterns:
            return batch
        kept: list[Item] = []
        dropped: Counter[str] = Counter()
        for item in batch.items:
            if self._drops(item):
                dropped[IGNORED] += 1
            else:
                kept.append(item)
        kept += [LeftOut(kind=kind, number=count) for kind, count in dropped.items()]
        return batch._replace(items=tuple(kept))

    def _drops(self, item: Item) -> bool:
        if isinstance(item, FileFact):
            return self.matches(item.path)
        if not isinstance(item, Event):
            return False
        if item.kind is Kind.TOOL_RESULT:
            return item.call_id in self._calls
        if item.kind is not Kind.TOOL_CALL or not self._touches(item):
            return False
        if item.call_id is not None:
            self._calls.add(item.call_id)
        return True

    def _touches(self, event: Event) -> bool:
        named = _paths(event.tool_input)
        words = _WORD.findall(event.text) if len(event.text) < 64 * 1024 else []
        return any(self.matches(path) for path in (*named, *words))


NOTHING: Final = Ignored((), "")


def _paths(value: Json) -> list[str]:
    """Return the paths in a tool's structured input."""
    if not isinstance(value, dict):
        return []
    found: list[str] = []
    for key in _PATH_KEYS:
        inner = value.get(key)
        if isinstance(inner, str):
            found.append(inner)
        elif isinstance(inner, list):
            found += [name for name in inner if isinstance(name, str)]
        elif isinstance(inner, dict):
            found += list(inner)
    command = value.get("command")
    if isinstance(command, str):
        found += _WORD.findall(command[: 64 * 1024])
    elif isinstance(command, list):
        found += [word for word in command if isinstance(word, str)]
    return found

"""What is true at the end of a task, and whether a text states it.

A fact is written as a pattern over words: `a & b` means both within `REACH` characters of each
other, `a|b` either of them, `a & b > c` that the second part follows the first somewhere, and
` or ` between whole patterns that one of them is enough. Case and white space do not count; nor do
the prefixes of a fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

REACH: Final = 400
"""Characters within which the words of one statement have to stand."""
BEFORE: Final = 160
"""Characters before an old value within which the new one still corrects it."""
CHANGING: Final = (
    "edit|creat|delet|writ|wrote|update|patch|chang|modif|uncommitted|add file|added|remov"
)
"""Words by which a text says that a file was changed; any of them, near its path."""

CLASSES: Final = ("objective", "open", "check", "files", "decision")


class Place(NamedTuple):
    """Where a pattern's words stand in a text."""

    begin: int
    end: int


class Told:
    """A delivered text, made ready for searching."""

    def __init__(self, text: str) -> None:
        lines = (re.sub(r"^\|( |$)", "", line) for line in text.split("\n"))
        self.text = " ".join(" ".join(lines).split()).casefold()
        self._known: dict[str, list[Place]] = {}

    def word(self, alternatives: str) -> list[Place]:
        """Return where one of the words that `|` separates stands, in order."""
        if alternatives not in self._known:
            parts = [re.escape(w.strip().casefold()) for w in alternatives.split("|")]
            found = re.finditer("|".join(parts), self.text)
            self._known[alternatives] = [Place(*match.span()) for match in found]
        return self._known[alternatives]

    def together(self, pattern: str) -> list[Place]:
        """Return the stretches of at most `REACH` characters that hold every word of `a & b`."""
        words = [self.word(word) for word in pattern.split("&")]
        if not all(words):
            return []
        return list(_stretches(words))

    def states(self, pattern: str) -> bool:
        """Tell whether the text states a pattern."""
        return any(self._in_order(way.split(">")) for way in pattern.split(" or "))

    def _in_order(self, parts: list[str]) -> bool:
        after = 0
        for part in parts:
            place = next((p for p in self.together(part) if p.begin >= after), None)
            if place is None:
                return False
            after = place.end
        return True


def _stretches(words: list[list[Place]]) -> Iterator[Place]:
    """Yield for each place of the first word the stretch to the nearest places of the others."""
    for first in words[0]:
        begin, end = first
        for others in words[1:]:
            nearest = min(others, key=lambda place: abs(place.begin - first.begin))
            begin, end = min(begin, nearest.begin), max(end, nearest.end)
        if end - begin <= REACH:
            yield Place(begin, end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """A statement that no longer holds, and the one that does."""

    old: str
    new: str

    def misleads(self, told: Told) -> bool:
        """Tell whether the old one is repeated as current.

        It is not when it is absent, and not when the newest mention of it is corrected: the new one
        stands behind it, or within `BEFORE` characters before it.
        """
        old = told.together(self.old)
        if not old:
            return False
        last = max(old, key=lambda place: place.end)
        corrected = any(
            place.end > last.end or last.begin - BEFORE <= place.begin < last.end
            for place in told.together(self.new)
        )
        return not corrected


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What somebody who takes the work up has to know. Each pattern is one fact."""

    objective: tuple[str, ...]
    """What is to be reached, as it stands at the end."""
    open: tuple[str, ...] = ()
    """What is still to be done, or waits for an answer."""
    check: tuple[str, ...] = ()
    """How checks stand: failed, mended, or older than the last change."""
    files: tuple[str, ...] = ()
    """Paths that were changed; each counts with a word of change near it."""
    decision: tuple[str, ...] = ()
    """What was decided, the newest word of it."""
    replaced: tuple[Replaced, ...] = ()

    def patterns(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the classes that this task has, with their patterns."""
        for name in CLASSES:
            found: tuple[str, ...] = getattr(self, name)
            if name == "files":
                found = tuple(f"{path} & {CHANGING}" for path in found)
            if found:
                yield name, found


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What one text carried of one truth."""

    shares: dict[str, float] = field(default_factory=dict)
    """Share of the facts carried, by class; only classes that the task has."""
    misled: bool | None = None
    """None: nothing was replaced in this task."""
    missing: tuple[str, ...] = ()
    """Patterns of the facts that are not stated."""

    @property
    def carried(self) -> float:
        """Mean over the classes: a task with many files does not drown its open item."""
        return sum(self.shares.values()) / len(self.shares)


def score(truth: Truth, text: str) -> Score:
    """Return what a delivered text carries."""
    told = Told(text)
    shares: dict[str, float] = {}
    missing: list[str] = []
    for name, patterns in truth.patterns():
        absent = [pattern for pattern in patterns if not told.states(pattern)]
        shares[name] = 1 - len(absent) / len(patterns)
        missing += absent
    misled = None
    if truth.replaced:
        misled = any(each.misleads(told) for each in truth.replaced)
    return Score(shares=shares, misled=misled, missing=tuple(missing))

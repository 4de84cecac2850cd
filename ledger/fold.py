"""Search folding, and user queries made safe for FTS5.

The same ``fold`` runs over what is indexed and over what is asked.  It is made for a table with
``tokenize = "unicode61 remove_diacritics 2"`` and default token characters: NFKC and case
folding, and every CJK, kana or hangul character set apart by blanks, so that words of a script
without blanks are found as phrases of single characters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_NO_SEARCHABLE: Final = "the query has no letter or digit to search for"
_ONLY_EXCLUDES: Final = "the query only excludes words; add one to search for"
_OPERATORS: Final = frozenset({"OR", "AND"})
_MOST_TERMS: Final = 64
_TOO_MANY: Final = f"only the first {_MOST_TERMS} words of the query are used"
_WIDE: Final = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u3041-\u3096"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003fffd"
)
_GAP: Final = "\x00"
_START: Final = f"(?:(?<![^\\W_])|(?<=[{_WIDE}])|(?=[{_WIDE}]))"
_SNIPPET_REACH: Final = 256 * 1024
"""How many characters of non-ASCII text are searched for the place of a snippet."""
_CHUNK: Final = 4096
_OVERLAP: Final = 512
_FOLD_ROUNDS: Final = 3
_LONGEST_TERM: Final = 40
"""Tokens of one phrase; FTS5 accepts more, but nobody types them."""

_WIDE_CHARACTER: Final = re.compile(f"[{_WIDE}]")
_WIDE_RUN: Final = re.compile(f"[{_WIDE}](?: ?[{_WIDE}])*")
_QUERY_PART: Final = re.compile(
    r'(?P<minus>-(?=[^\s-]))?(?:"(?P<phrase>[^"]*)"(?P<pstar>\*)?|(?P<word>[^\s"]+|"))'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a user asked for, as FTS5 understands it."""

    match: str | None
    """An expression that FTS5 always accepts, or None when nothing can be searched for."""
    terms: list[str]
    """Folded words and phrases that a hit contains, for ``snippet``; without excluded ones."""
    problem: str | None
    """A sentence for the user: why nothing is searched, or what part of the query is ignored."""


def fold(text: str) -> str:
    """Give the searchable form of ``text``: folded, with single CJK characters.

    Never fails; nothing is removed.  Folding folded text changes nothing.  ASCII text is only
    lowercased.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    for _ in range(_FOLD_ROUNDS):
        again = unicodedata.normalize("NFKC", folded).casefold()
        if again == folded:
            break
        folded = again
    return _WIDE_RUN.sub(_set_apart, folded)


def _set_apart(run: re.Match[str]) -> str:
    text, start, end = run.string, run.start(), run.end()
    before = " " if start and not text[start - 1].isspace() else ""
    after = " " if end < len(text) and not text[end].isspace() else ""
    return before + " ".join(run[0].replace(" ", "")) + after


def query(text: str) -> Query:
    """Read a user's query; any text is accepted.

    Words are AND-ed.  ``"a phrase"``, ``prefix*``, ``-excluded`` and ``this OR that`` work; an
    unbalanced quote is just a character.  A word such as ``foo.bar`` or ``don't`` becomes the
    phrase of its tokens.
    """
    reading = _Reading()
    for part in _QUERY_PART.finditer(text):
        if part["word"] in _OPERATORS and not part["minus"]:
            reading.joined = part["word"] == "OR" and bool(reading.groups)
            continue
        tokens = _tokens(part["phrase"] if part["word"] is None else part["word"])
        if not tokens:
            continue
        if len(reading.terms) + len(reading.excluded) == _MOST_TERMS:
            return reading.query(_TOO_MANY)
        reading.add(tokens, prefix=_is_prefix(part), exclude=bool(part["minus"]))
    if not reading.groups and not reading.excluded:
        for token in _tokens(text):  # nothing but operators: then they are words
            reading.add([token], prefix=False, exclude=False)
    return reading.query(None)


class _Reading:
    """A query as far as it was read."""

    def __init__(self) -> None:
        self.groups: list[list[str]] = []
        self.excluded: list[str] = []
        self.terms: list[str] = []
        self.joined = False

    def add(self, tokens: list[str], *, prefix: bool, exclude: bool) -> None:
        phrase = f'"{" ".join(tokens)}"' + ("*" if prefix else "")
        if exclude:
            self.excluded.append(phrase)
        else:
            self.terms.append(" ".join(tokens))
            if self.joined:
                self.groups[-1].append(phrase)
            else:
                self.groups.append([phrase])
        self.joined = False

    def query(self, problem: str | None) -> Query:
        if not self.groups:
            problem = _ONLY_EXCLUDES if self.excluded else _NO_SEARCHABLE
            return Query(match=None, terms=[], problem=problem)
        return Query(
            match=_expression(self.groups, self.excluded), terms=self.terms, problem=problem
        )


def snippet(text: str, terms: list[str], width: int = 160) -> str:
    """Cut about ``width`` characters of ``text`` around the first hit, on one line.

    ``terms`` are those of a ``Query``.  Cut ends are marked with an ellipsis and count to the
    width.  Control characters are left in: output goes through ``ledger.visible.show``.
    """
    found = _first_hit(text, terms)
    at, end = found or (0, 0)
    room = max(1, width)
    start = 0 if len(text) <= room else max(0, min(at - (room - (end - at)) // 3, len(text) - room))
    start = min(start, at)
    stop = min(len(text), start + room)
    left = "…" if start else ""
    right = "…" if stop < len(text) else ""
    start, stop = _at_words(text, start + len(left), stop - len(right), (at, end))
    return left + " ".join(text[start:stop].split()) + right


def _is_prefix(part: re.Match[str]) -> bool:
    return bool(part["pstar"]) or (part["word"] or "").endswith("*")


def _expression(groups: list[list[str]], excluded: list[str]) -> str:
    parts = [group[0] if len(group) == 1 else f"({' OR '.join(group)})" for group in groups]
    wanted = " AND ".join(parts)
    if not excluded:
        return wanted
    return f"({wanted}) NOT ({' OR '.join(excluded)})"


def _tokens(text: str) -> list[str]:
    """Split folded text as unicode61 does, leaving out what it would not index."""
    spaced = "".join(
        character if _is_token_character(character) or unicodedata.combining(character) else " "
        for character in fold(text)
    )
    tokens = [token for token in spaced.split() if any(map(_is_token_character, token))]
    return tokens[:_LONGEST_TERM]


@lru_cache(maxsize=8192)
def _is_token_character(character: str) -> bool:
    """Tell whether unicode61 takes the character for part of a word.

    A character newer than SQLite's Unicode tables may be a separator there; the quoted phrase
    stays valid all the same.
    """
    category = unicodedata.category(character)
    return category[0] in "LN" or category == "Co"


def _first_hit(text: str, terms: list[str]) -> tuple[int, int] | None:
    """Find the earliest term in ``text``, as a range of its characters."""
    wanted = [key for key in (_keyed(term)[0] for term in terms) if key]
    if not wanted:
        return None
    words = "|".join(re.escape(key).replace(_GAP, r"[\W_]+") for key in wanted)
    pattern = re.compile(rf"(?<![^\W_])(?:{words})", re.IGNORECASE | re.ASCII)
    if text.isascii():
        hit = pattern.search(text)
        return hit.span() if hit else None
    keys = re.compile("|".join(f"{_START}{re.escape(key)}" for key in wanted))
    for begin in range(0, min(len(text), _SNIPPET_REACH), _CHUNK):
        flat, origins = _keyed(text[begin : begin + _CHUNK + _OVERLAP])
        hit = keys.search(flat)
        if hit:
            return begin + origins[hit.start()], begin + origins[hit.end() - 1] + 1
    return None


def _keyed(text: str) -> tuple[str, list[int]]:
    """Give what hits are looked for in, and for each of its characters the one it came from.

    Characters are folded one by one and lose their marks; separators become one gap, and
    none beside a CJK character, which is a word of its own.
    """
    keys: list[str] = []
    origins: list[int] = []
    gap = False
    for at, character in enumerate(text):
        key = _key(character)
        if key == _GAP:
            gap = True
            continue
        if key and gap:
            if keys and not _WIDE_CHARACTER.match(keys[-1]) and not _WIDE_CHARACTER.match(key):
                keys.append(_GAP)
                origins.append(at)
            gap = False
        keys.extend(key)
        origins.extend([at] * len(key))
    return "".join(keys), origins


@lru_cache(maxsize=8192)
def _key(character: str) -> str:
    folded = fold(character)
    if not folded.isascii() and not _WIDE_CHARACTER.search(folded):
        folded = unicodedata.normalize("NFD", folded)
    kept = "".join(filter(_is_token_character, folded))
    return kept or ("" if unicodedata.combining(character) else _GAP)


def _at_words(text: str, start: int, stop: int, hit: tuple[int, int]) -> tuple[int, int]:
    """Move cut ends to a blank nearby, never into the hit."""
    if start:
        blank = text.find(" ", start, min(hit[0], start + 20))
        start = blank + 1 if blank >= 0 else start
    if stop < len(text) and not text[stop].isspace():
        blank = text.rfind(" ", max(hit[1], stop - 20), stop)
        stop = blank if blank >= 0 else stop
    return start, stop

"""Text taken apart for the text rules: quoted spans out, sentences, words.

The invariant this module protects: every step is linear in the text, whatever it holds. Patterns
either cannot start again inside what they scanned, or look ahead a bounded number of words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

QUOTED: Final = "\ufffc"
"""Stands where a quoted or back-quoted span was: something definite, whatever it said."""

_TICKS: Final = re.compile("`+")
_QUOTES: Final = re.compile(
    '"[^"\n]+"'
    "|\u201c[^\u201c\u201d]+\u201d"
    "|\u2018[^\u2018\u2019]+\u2019"
    "|\u00ab[^\u00ab\u00bb]+\u00bb"
    "|\u300c[^\u300c\u300d]+\u300d"
    "|\u300e[^\u300e\u300f]+\u300f"
    r"|(?<!\w)'(?=\S)[^'\n]*(?:(?<=\w)'(?=\w)[^'\n]*)*'(?!\w)"
)
_WRAPPED: Final = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "\u300c": "\u300d"}
_ENDS: Final = re.compile(
    "(?<![/.!?;\u2026])[.!?;\u2026]+(?=[\\s)\\]\"'*_]|$)|[\u3002\uff01\uff1f\uff1b]+|\n+"
)
_WORD: Final = re.compile(rf"{QUOTED}|[^\W_]\w*(?:[-'./:@&+~=]+\w+)*|_\w*|[,:()\[\]?/+*|=<>#%$]")
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u02bc": "'"})
_LINE_MARKS: Final = re.compile(
    r"^[ \t]*(?:>[ \t]*)*(?:(?:#{1,6}|[-*+\u2022]|\d{1,3}[.)])[ \t]+)*(?:\[[ xX]?\][ \t]*)?",
    re.MULTILINE,
)
"""What Markdown puts before the words of a line: quotation, heading, item, box."""
_EMPHASIS: Final = re.compile(r"(?<![\w*_~])[*_~]{1,3}(?=\w)|(?<=[\w.,:;!?)])[*_~]{1,3}(?![\w*_~])")


def unquoted(text: str, *, code: Callable[[str], str] | None = None) -> str:
    """Return `text` without Markdown's marks, each quoted or back-quoted span replaced by QUOTED.

    A text that is nothing but one quotation is taken at its word: its quotation marks go. `code`
    gives another replacement for what stands between back quotes.
    """
    plain = _QUOTES.sub(f" {QUOTED} ", _without_code(_unwrapped(text.strip()), code))
    return _EMPHASIS.sub("", _LINE_MARKS.sub("", plain))


def _unwrapped(text: str) -> str:
    if len(text) < 3:
        return text
    closing = _WRAPPED.get(text[0])
    inner = text[1:-1]
    if closing is None or text[-1] != closing or closing in inner or text[0] in inner:
        return text
    return inner


def _without_code(text: str, code: Callable[[str], str] | None) -> str:
    runs = [match.span() for match in _TICKS.finditer(text)]
    closing: list[int | None] = [None] * len(runs)
    latest: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        closing[index] = latest.get(length)
        latest[length] = index
    kept: list[str] = []
    at = index = 0
    while index < len(runs):
        other = closing[index]
        if other is None:
            index += 1
            continue
        inner = text[runs[index][1] : runs[other][0]]
        kept += [text[at : runs[index][0]], f" {QUOTED if code is None else code(inner)} "]
        at, index = runs[other][1], other + 1
    return "".join([*kept, text[at:]])


def sentences(text: str) -> list[str]:
    """Return the sentences, lines and list items of `text`, with their closing mark."""
    found = []
    at = 0
    for match in _ENDS.finditer(text):
        piece = text[at : match.end()].strip()
        if piece:
            found.append(piece)
        at = match.end()
    rest = text[at:].strip()
    return [*found, rest] if rest else found


def words(sentence: str) -> list[str]:
    """Return words in lower case and the punctuation that divides clauses, in order.

    A path, a file name and a hyphenated word are one word each.
    """
    return _WORD.findall(sentence.lower().translate(_APOSTROPHES))


def spaced(found: list[str]) -> str:
    """Return words with one space around each, so that patterns can count words."""
    return f" {' '.join(found)} "

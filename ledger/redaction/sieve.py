r"""Which of many texts may hold a secret: one look at them all joined, instead of one at each.

``suspects`` is exact on one side: a text that it does not name comes back from ``scrub`` as it
is.  It joins the texts to groups and looks there for the beginnings of what the finders look for,
without judging them; a text that any of these touches is a suspect.

A pattern may not join two texts to something neither holds, nor miss at a text's edge what it
would find in the text alone.  The separator sees to that: no pattern runs over both a line feed
and two NULs, and to every look-around it is what the edge of a text is.  Where a pattern asks for
the true beginning of a text, the whole group is suspect.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from ledger.redaction import assignments, contexts
from ledger.redaction.prefixes import has_whole_run, long_runs, token_candidates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_SEPARATOR: Final = b"\n\0\n\0\n"
_GROUP: Final = 48 * 1024
"""Bytes after which a group is closed: large enough that the calls do not count, small enough
that a word of one text does not open the look for it in too many others."""
_GATES: Final = tuple(sorted(assignments.GATES | contexts.GATES))


def suspects(texts: Sequence[bytes]) -> set[int]:
    """Return the numbers of the texts that must be scrubbed; all others hold no secret."""
    found: set[int] = set()
    start = size = 0
    for number, text in enumerate(texts):
        size += len(text)
        if size >= _GROUP:
            found |= _group(texts[start : number + 1], start)
            start, size = number + 1, 0
    if start < len(texts):
        found |= _group(texts[start:], start)
    return found


def _group(texts: Sequence[bytes], first: int) -> set[int]:
    raw = _SEPARATOR.join(texts)
    lower = raw.lower()
    runs = long_runs(raw)
    if runs and has_whole_run(runs):
        return set(range(first, first + len(texts)))
    words = frozenset(filter(lower.__contains__, _GATES))
    starts = list(accumulate((len(text) + len(_SEPARATOR) for text in texts), initial=0))
    found: set[int] = set()
    for begin, end in _candidates(raw, lower, words, runs):
        at = bisect_right(starts, begin) - 1
        while at < len(texts) and starts[at] < end:
            found.add(first + at)
            at += 1
    return found


def _candidates(
    raw: bytes, lower: bytes, words: frozenset[bytes], runs: list[bytes]
) -> Iterator[tuple[int, int]]:
    yield from token_candidates(raw, runs)
    yield from contexts.candidates(raw, lower, words, runs)
    yield from assignments.candidates(lower, words)

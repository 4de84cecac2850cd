"""Sets of sequence numbers as ascending, disjoint [first, last] ranges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the ranges in order, joined where they touch; empty ones are dropped."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if last < first:
            continue
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return tuple(out)


def without(ranges: Iterable[tuple[int, int]], taken: Iterable[tuple[int, int]]) -> Ranges:
    """Return what is in `ranges` and not in `taken`."""
    out: list[tuple[int, int]] = []
    holes = merged(taken)
    at = 0
    for first, last in merged(ranges):
        start = first
        while at < len(holes) and holes[at][1] < start:
            at += 1
        hole = at
        while hole < len(holes) and holes[hole][0] <= last:
            if holes[hole][0] > start:
                out.append((start, holes[hole][0] - 1))
            start = holes[hole][1] + 1
            hole += 1
        if start <= last:
            out.append((start, last))
    return tuple(out)


def count(ranges: Iterable[tuple[int, int]]) -> int:
    """Return how many numbers disjoint ranges hold."""
    return sum(last - first + 1 for first, last in ranges)

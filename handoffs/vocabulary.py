"""Closed word lists, written as text."""

from __future__ import annotations


def listed(words: str) -> frozenset[str]:
    """Return the words of a text that holds one list, divided by white space."""
    return frozenset(words.split())

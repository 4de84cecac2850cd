"""Words of a draft: other people's words as quotations, commands and paths as code, moments."""

from __future__ import annotations

import datetime

from handoffs.pastes import collapse_pastes
from ledger.visible import Keep, cut, show


def flat(text: str, limit: int, *, keep: Keep = "both") -> str:
    """Give a text as one line of at most `limit` bytes, pastes collapsed."""
    words = " ".join(collapse_pastes(text).split())
    return cut(show(words, newline=False), limit, keep=keep).text


def quoted(text: str, limit: int, *, keep: Keep = "both") -> str:
    """Give somebody's words as a quotation that ends where it seems to end.

    Beginning and end are kept of a long one: the point of a message is seldom in its middle.
    """
    return '"' + flat(text, limit, keep=keep).replace('"', "'").replace("`", "'") + '"'


def code(text: str, limit: int) -> str:
    """Give a command or a path between back quotes."""
    return "`" + flat(text, limit).replace("`", "'") + "`"


def day(ms: int) -> str:
    """Give the day of a time, in UTC."""
    return f"{datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC):%Y-%m-%d}"


def moment(ms: int) -> str:
    """Give a time to the minute, in UTC."""
    return f"{datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC):%Y-%m-%d %H:%M} UTC"

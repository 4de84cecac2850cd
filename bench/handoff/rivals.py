"""The simple ways of handing over, each with the bytes that ours gets, and with no scaffold.

They are given what the harness showed, complete and in order, of every harness that took part: a
perfect reader of the native stores. After a /clear that is what came after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from bench.handoff.talk import Role, Shown
from ledger.visible import cut

GLUE: Final = "\n\n"
OUTPUT: Final = 400
"""Bytes of a tool's output that the tail with cut outputs keeps."""

Way = Callable[[Sequence[Shown], int], str]


def everything(shown: Sequence[Shown]) -> str:
    """Return all that was visible, whatever it costs: what a perfect memory would hold."""
    return GLUE.join(map(_written, shown))


def last_turn(shown: Sequence[Shown], budget: int) -> str:
    """Return the last request and what followed; the end of it when that is too long."""
    begin = max((n for n, item in enumerate(shown) if item.role is Role.USER), default=0)
    request, rest = _written(shown[begin]), GLUE.join(map(_written, shown[begin + 1 :]))
    request = cut(request, budget // 3, keep="head").text
    room = budget - len(request.encode()) - len(GLUE)
    return f"{request}{GLUE}{_tail(rest, room)}" if rest else request


def raw_tail(shown: Sequence[Shown], budget: int) -> str:
    """Return the last bytes of everything that was visible."""
    return _tail(everything(shown), budget)


def tail_without_outputs(shown: Sequence[Shown], budget: int) -> str:
    """Return the last bytes of everything, each tool output cut to its end."""
    short = [
        item._replace(text=cut(item.text, OUTPUT, keep="tail").text)
        if item.role is Role.RESULT
        else item
        for item in shown
    ]
    return _tail(GLUE.join(map(_written, short)), budget)


def first_and_last(shown: Sequence[Shown], budget: int) -> str:
    """Return the first two and the last four messages, in equal shares where they are too long."""
    messages = [item for item in shown if item.role in (Role.USER, Role.ASSISTANT)]
    chosen = messages if len(messages) <= 6 else [*messages[:2], *messages[-4:]]
    texts = [_written(item) for item in chosen]
    room = budget - len(GLUE) * (len(texts) - 1)
    return GLUE.join(_shared(texts, room))


def _shared(texts: Sequence[str], room: int) -> list[str]:
    """Cut texts to equal shares of the room; what a short one leaves goes to the longer ones."""
    kept = list(texts)
    waiting = sorted(range(len(texts)), key=lambda n: len(texts[n].encode()))
    for place, number in enumerate(waiting):
        share = room // (len(waiting) - place)
        kept[number] = cut(texts[number], share, keep="both").text
        room -= len(kept[number].encode())
    return kept


def _written(item: Shown) -> str:
    return f"{item.role}: {item.text}"


def _tail(text: str, room: int) -> str:
    raw = text.encode()
    return text if len(raw) <= room else raw[-room:].decode("utf-8", "ignore") if room > 0 else ""


RIVALS: Final[dict[str, Way]] = {
    "last turn": last_turn,
    "raw tail": raw_tail,
    "raw tail, outputs cut": tail_without_outputs,
    "first 2 + last 4": first_and_last,
}

"""Which lines fit: shares of one budget, newest first, what is unused flows on.

The invariant this module protects: the chosen lines never cost more than the budget, and a new
event never loses its place to an old one of the same share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from launcher.digest import ASSISTANT_BYTES, Line, Share

LAST_TURN: Final = 0.30
SHARES: Final[dict[Share, float]] = {Share.USER: 0.30, Share.ASSISTANT: 0.25, Share.TOOL: 0.15}


def choose(lines: Sequence[Line], budget: int) -> list[Line]:
    """Return the lines that fit into `budget` bytes, in conversation order, some of them shortened.

    Lines are given in conversation order. First the last turn, then each share for itself, then
    what is left goes to whatever is still waiting: words of the person first.
    """
    if budget <= 0:
        return []
    chosen: dict[int, Line] = {}
    newest = sorted(lines, key=lambda line: line.place, reverse=True)
    left = budget
    left -= _fill([line for line in newest if line.last_turn], int(budget * LAST_TURN), chosen)
    for share, part in SHARES.items():
        waiting = [line for line in newest if line.share is share and line.place not in chosen]
        left -= _fill(waiting, min(left, int(budget * part)), chosen)
    for share in SHARES:
        waiting = [line for line in newest if line.share is share and line.place not in chosen]
        left -= _fill(waiting, left, chosen)
    return sorted(chosen.values(), key=lambda line: line.place)


def _fill(waiting: Sequence[Line], room: int, chosen: dict[int, Line]) -> int:
    """Take lines while they fit, newest first; stop at the first that does not. Returns the cost.

    Stopping keeps the delta a suffix of the conversation: a hole would read like a sequence.
    """
    spent = 0
    for line in waiting:
        fitting = _fit(line, room - spent)
        if fitting is None:
            break
        chosen[line.place] = fitting
        spent += fitting.cost
    return spent


def _fit(line: Line, room: int) -> Line | None:
    cap = room
    if line.share is Share.ASSISTANT and not line.unfinished:
        cap = min(room, ASSISTANT_BYTES * (2 if line.last_turn else 1))
    return line if line.cost <= cap else line.shortened(cap)

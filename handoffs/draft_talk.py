"""Which messages a draft quotes: the newest, the earlier ones that still bind, what was answered.

Bounded by the number of messages that are looked at, never by the length of the history. Nothing is
judged but that a bare "yes, go on" says nothing by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from handoffs.remarks import binds, is_assent, is_definite
from ledger import events
from ledger.model import Branch, EventKind, EventRow, RunRow, Workstream

if TYPE_CHECKING:
    from ledger.store import Store

ASKED: Final = 3
EARLIER: Final = 8
BINDING: Final = 4
"""Of the earlier ones, so many places are kept for rules, corrections and things put off."""
ON_THE_WAY: Final = 3
LOOKED_AT: Final = 30
"""Newest messages of the person among which those that say something are looked for."""
REMARKS: Final = 100
"""Newest messages of the agent among which its findings are looked for."""
SPARE: Final = 30
"""Read beyond what is wanted: some may be withdrawn, or have no text."""
TEXT_BYTES: Final = 64 * 1024
"""Of one message; what lies beyond is not looked at."""

NEAR: Final = 500
"""Events before an answer among which what it answers is looked for."""


class Talk(NamedTuple):
    """Messages, oldest first."""

    asked: tuple[EventRow, ...]
    """Newest messages of the person in the run; the last one whatever it says."""
    earlier: tuple[EventRow, ...]
    """What the person said before those, in any session, since the present work began."""
    said: EventRow | None
    """Last message of the agent in the run."""
    on_the_way: tuple[EventRow, ...]
    """What the agent said of definite things in a turn that has no last word."""
    answered: EventRow | None
    """The agent's message that the person's last one answers, when that is a bare assent."""


def talk(
    store: Store,
    workstream: Workstream,
    run: RunRow,
    *,
    boundary: int,
    objective: EventRow | None,
    complete: bool,
) -> Talk:
    """Return the messages of a run and of what led to it.

    `boundary` is the event after which the present work began; `objective` is the message that the
    objective repeats anyway; `complete` tells whether the last turn was answered.
    """
    mine = _of_run(store, run, EventKind.USER_MESSAGE, LOOKED_AT, boundary)
    asked = _telling(mine[:-1])[-(ASKED - 1) :]
    asked = [*asked, *mine[-1:]]
    wanted = 1 if complete else REMARKS
    said = _of_run(store, run, EventKind.ASSISTANT_MESSAGE, wanted, boundary)
    before = asked[0].seq if asked else workstream.head_seq + 1
    earlier = [
        event
        for event in _telling(_of_workstream(store, workstream, boundary, before))
        if objective is None or event.seq != objective.seq
    ]
    last = asked[-1] if asked else None
    return Talk(
        asked=tuple(asked),
        earlier=_chosen(earlier),
        said=said[-1] if said else None,
        on_the_way=() if complete else _found(said[:-1], turn=said[-1].turn if said else None),
        answered=_answered(store, workstream, last)
        if last is not None and is_assent(last.text)
        else None,
    )


def _chosen(given: list[EventRow]) -> tuple[EventRow, ...]:
    """Return the newest messages, with places kept for those that bind."""
    binding = [event.seq for event in given if binds(event.text)][-BINDING:]
    newest = [event.seq for event in reversed(given) if event.seq not in binding]
    kept = {*binding, *newest[: EARLIER - len(binding)]}
    return tuple(event for event in given if event.seq in kept)


def _found(given: list[EventRow], turn: str | None) -> tuple[EventRow, ...]:
    """Return the longest definite messages of a turn: conclusions are longer than announcements."""
    mine = [event for event in given if event.turn == turn and is_definite(event.text)]
    longest = sorted(mine, key=lambda event: (-len(event.text), -event.seq))[:ON_THE_WAY]
    return tuple(sorted(longest, key=lambda event: event.seq))


def _telling(given: Iterable[EventRow]) -> list[EventRow]:
    """Return the messages that say something: no bare assent, no bare slash command."""
    return [event for event in given if is_request(event.text) and not is_assent(event.text)]


def is_request(text: str) -> bool:
    """Tell whether a message asks for work; a bare slash command does not."""
    words = text.split()
    return bool(words) and not (words[0].startswith("/") and len(words) == 1)


def _of_run(store: Store, run: RunRow, kind: EventKind, limit: int, after: int) -> list[EventRow]:
    rows = store.all(
        "SELECT eid FROM event INDEXED BY event_run WHERE run = ? AND kind = ? AND workstream = ?"
        " AND seq > ? ORDER BY seq DESC LIMIT ?",
        *(run.id, str(kind), run.workstream, after, limit + SPARE),
    )
    return _active(store, [int(row["eid"]) for row in rows])[-limit:]


def _of_workstream(store: Store, workstream: Workstream, after: int, before: int) -> list[EventRow]:
    rows = store.all(
        "SELECT eid FROM event INDEXED BY event_user WHERE workstream = ? AND seq > ? AND seq < ?"
        " AND kind = 'user_message' AND EXISTS (SELECT 1 FROM session"
        " WHERE session.id = event.session AND deliver = 1) ORDER BY seq DESC LIMIT ?",
        *(workstream.id, after, before, LOOKED_AT),
    )
    return _active(store, [int(row["eid"]) for row in rows])


def _active(store: Store, eids: list[int]) -> list[EventRow]:
    """Return the events that were not withdrawn and have a text, oldest first."""
    found = events.by_eids(store, eids, text_bytes=TEXT_BYTES)
    kept = (event for event in found.values() if event.branch is Branch.ACTIVE)
    return sorted((event for event in kept if event.text.strip()), key=lambda event: event.seq)


def _answered(store: Store, workstream: Workstream, message: EventRow) -> EventRow | None:
    """Return the agent's last message before one of the person, in the same session."""
    row = store.one(
        "SELECT seq FROM event WHERE workstream = ? AND seq BETWEEN ? AND ? AND session = ?"
        " AND kind = 'assistant_message' ORDER BY seq DESC LIMIT 1",
        *(workstream.id, message.seq - NEAR, message.seq - 1, message.session_id),
    )
    return None if row is None else events.get(store, workstream, str(row["seq"]))

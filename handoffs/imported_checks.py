"""Checks that agents ran: recognised among the tool calls that were imported.

Bounded by the number of tool calls that are looked at, never by the length of the history.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from handoffs.canonical import value_digest
from handoffs.models import CheckStatus
from ledger import events
from ledger.model import EventKind, EventRow, Workstream, workstream_id

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store

LOOKED_AT: Final = 400
"""Newest tool calls and results among which checks are looked for."""
REACH: Final = 5_000
"""Newest events among which they are looked for."""
_NEAR: Final = 2_000
AGENT: Final = "agent/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedCheck:
    """A check by an agent: its command, what came of it, when."""

    id: str
    """Event id of the call; `agent/<session>/<agent>/<call>` for a subagent's."""
    digest: str
    command: str
    exit_code: int | None
    status: CheckStatus
    failures: int | None
    at: int
    """When its result was recorded."""
    seq: int
    """Event of the result, or of the call; 0 for a subagent's."""
    entry: str | None
    tool: str | None
    """Recognised tool; None when the command is not a check."""
    forgotten: bool = False
    """Its words were taken away on request."""


class Candidate(NamedTuple):
    """A check that was found; what came of it is worked out when it is asked for."""

    at: int
    seq: int
    command: str
    make: Callable[[], ImportedCheck]


def candidates(
    store: Store, workstream: Workstream | int, *, after: int = 0
) -> Iterator[Candidate]:
    """Yield the checks among the newest tool calls after event `after`, newest first.

    Costs little for each; what came of a check is what costs.
    """
    from handoffs import check_outcome  # imported late: a launch only asks for digests

    number = workstream_id(workstream)
    head = store.one("SELECT head_seq FROM workstream WHERE id = ?", number)
    floor = max(after, (0 if head is None else int(head["head_seq"])) - REACH)
    rows = events.log(
        store,
        number,
        limit=LOOKED_AT,
        after=floor,
        kinds=(EventKind.TOOL_CALL, EventKind.TOOL_RESULT),
        text_bytes=4096,
    )
    results = _results(rows)
    found = []
    for row in rows:
        command = command_of(row) if row.kind is EventKind.TOOL_CALL else None
        if command is None:
            continue
        result = results.get((row.session_id, row.call_id))
        last = row if result is None else result
        make = partial(_made, store, row, result, command)
        found.append(Candidate(last.occurred_at, last.seq, command, make))
    found += _of_subagents(store, number, floor)
    found.sort(key=lambda item: (item.at, item.seq), reverse=True)
    for item in found:
        if check_outcome.check_tool(item.command) is not None:
            yield item


def recent(
    store: Store, workstream: Workstream | int, *, after: int = 0
) -> Iterator[ImportedCheck]:
    """Yield the checks among the newest tool calls after event `after`, newest first."""
    return (item.make() for item in candidates(store, workstream, after=after))


def by_event(store: Store, workstream: Workstream | int, event: EventRow) -> ImportedCheck | None:
    """Return the run of a command that a tool call or result belongs to; None for other events."""
    if event.kind is EventKind.TOOL_RESULT:
        call = _near(store, workstream, event, EventKind.TOOL_CALL)
        result: EventRow | None = event
    else:
        call = event if event.kind is EventKind.TOOL_CALL else None
        result = _near(store, workstream, event, EventKind.TOOL_RESULT)
    command = None if call is None else command_of(call)
    if call is None or command is None:
        return None
    return _made(store, call, result, command)


def by_id(store: Store, workstream: Workstream | int, name: str) -> ImportedCheck | None:
    """Return the run of a command by the id that a reference carries, or None."""
    if name.startswith(AGENT):
        return by_agent(store, workstream, name)
    event = _event(store, workstream, name)
    return None if event is None else by_event(store, workstream, event)


def cited(store: Store, workstream: Workstream | int, name: str) -> tuple[str, bool] | None:
    """Return the digest that a reference to a check carries, and whether it was forgotten.

    Does not look at what came of it. None: there is no such run of a command.
    """
    if name.startswith(AGENT):
        check = by_agent(store, workstream, name)
        return None if check is None else (check.digest, False)
    event = _event(store, workstream, name)
    if event is not None and event.status == events.FORGOTTEN:
        return "", True
    if event is None or event.kind is not EventKind.TOOL_CALL or command_of(event) is None:
        return None
    result = _near(store, workstream, event, EventKind.TOOL_RESULT)
    return _call_digest(store, event, result), _forgotten(event, result)


def _event(store: Store, workstream: Workstream | int, name: str) -> EventRow | None:
    row = store.one(
        "SELECT seq FROM event WHERE workstream = ? AND event_id = ?",
        workstream_id(workstream),
        name,
    )
    return None if row is None else events.get(store, workstream, str(row["seq"]))


def by_agent(store: Store, workstream: Workstream | int, name: str) -> ImportedCheck | None:
    """Return the check of a subagent by its id, or None."""
    made = (item.make() for item in _of_subagents(store, workstream_id(workstream), 0))
    return next((check for check in made if check.id == name), None)


def is_of_agent(store: Store, name: str) -> bool:
    """Tell whether an id is that of a subagent's check, in any workstream."""
    parts = name.split("/")
    if len(parts) != 4 or not name.startswith(AGENT):
        return False
    row = store.one(
        "SELECT 1 FROM agent_check JOIN session ON session.id = agent_check.session"
        " WHERE native_id = ? AND agent = ? AND call_id = ?",
        *parts[1:],
    )
    return row is not None


def command_of(call: EventRow) -> str | None:
    """Return the shell command of a tool call, None for another tool."""
    try:
        value = json.loads(call.tool_input or "null")
    except ValueError:
        return None
    command = value.get("command", value.get("cmd")) if isinstance(value, dict) else None
    if isinstance(command, list):
        return " ".join(str(word) for word in command) or None
    return command if isinstance(command, str) and command.strip() else None


def _in_background(call: EventRow) -> bool:
    try:
        value = json.loads(call.tool_input or "null")
    except ValueError:
        return False
    return isinstance(value, dict) and bool(value.get("run_in_background"))


def _results(rows: list[EventRow]) -> dict[tuple[int | None, str | None], EventRow]:
    found: dict[tuple[int | None, str | None], EventRow] = {}
    for row in rows:
        if row.kind is not EventKind.TOOL_RESULT or row.call_id is None:
            continue
        key = (row.session_id, row.call_id)
        if key not in found or found[key].status == "interrupted":
            found[key] = row
    return found


def _near(
    store: Store, workstream: Workstream | int, event: EventRow, kind: EventKind
) -> EventRow | None:
    if event.call_id is None:
        return None
    row = store.one(
        "SELECT seq FROM event WHERE workstream = ? AND seq BETWEEN ? AND ? AND kind = ?"
        " AND call_id = ? AND session IS ? ORDER BY status = 'interrupted', seq LIMIT 1",
        *(workstream_id(workstream), event.seq - _NEAR, event.seq + _NEAR, str(kind)),
        *(event.call_id, event.session_id),
    )
    return None if row is None else events.get(store, workstream, str(row["seq"]))


def _made(store: Store, call: EventRow, result: EventRow | None, command: str) -> ImportedCheck:
    from handoffs import check_outcome  # imported late: a launch only asks for digests

    output = ""
    if result is not None and result.status != events.FORGOTTEN:
        output = (events.body(store, result.eid) or "") if result.truncated else result.text
    interrupted = result is None or result.status == "interrupted"
    outcome = check_outcome.decide(
        command,
        None if result is None else result.exit_code,
        output,
        background=_in_background(call),
    )
    return ImportedCheck(
        id=call.event_id,
        digest=_call_digest(store, call, result),
        command=command,
        exit_code=None if result is None else result.exit_code,
        status=CheckStatus.UNKNOWN if interrupted else outcome.status,
        failures=outcome.failures,
        at=call.occurred_at if result is None else result.occurred_at,
        seq=call.seq if result is None else result.seq,
        entry=call.harness,
        tool=outcome.tool,
        forgotten=_forgotten(call, result),
    )


def _call_digest(store: Store, call: EventRow, result: EventRow | None) -> str:
    return value_digest([_digest(store, call), None if result is None else _digest(store, result)])


def _forgotten(call: EventRow, result: EventRow | None) -> bool:
    return any(e is not None and e.status == events.FORGOTTEN for e in (call, result))


def _digest(store: Store, event: EventRow) -> str | None:
    row = store.one("SELECT content_digest FROM event WHERE eid = ?", event.eid)
    return None if row is None else bytes(row["content_digest"]).hex()


def _of_subagents(store: Store, workstream: int, after: int) -> list[Candidate]:
    floor = store.one(
        "SELECT occurred_at FROM event WHERE workstream = ? AND seq = ?", workstream, after
    )
    rows = store.all(
        "SELECT agent_check.*, session.entry, session.native_id FROM agent_check"
        " JOIN session ON session.id = agent_check.session"
        " WHERE session.workstream = ? AND session.deliver = 1 AND agent_check.at > ?"
        " ORDER BY agent_check.at DESC LIMIT 100",
        workstream,
        0 if floor is None else floor["occurred_at"],
    )
    return [Candidate(row["at"], 0, row["command"], partial(_made_of_agent, row)) for row in rows]


def _made_of_agent(row: sqlite3.Row) -> ImportedCheck:
    from handoffs import check_outcome  # imported late: a launch only asks for digests

    outcome = check_outcome.decide(row["command"], row["exit_code"], "")
    return ImportedCheck(
        id=f"{AGENT}{row['native_id']}/{row['agent']}/{row['call_id']}",
        digest=value_digest([row["command"], row["exit_code"], row["at"]]),
        command=row["command"],
        exit_code=row["exit_code"],
        status=outcome.status,
        failures=outcome.failures,
        at=row["at"],
        seq=0,
        entry=row["entry"],
        tool=outcome.tool,
    )

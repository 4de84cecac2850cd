"""What the records of a session say, in conversation order: events, turns, plans, usage, limits.

Identity of every event is (record uuid, block number); of a record without a uuid, which only very
old or damaged files hold, ("file:<session>:<n>", block number), n counting such records. A call
that never got a result is yielded as an interrupted result under the identity of the call's block.
"""

from __future__ import annotations

from pathlib import Path

from importers.base import Event, Item, Kind, NodeIndex, Turn
from importers.claude.assistant_records import assistant_record
from importers.claude.collected import Collected, Record
from importers.claude.other_records import attachment_record, system_record
from importers.claude.state import State
from importers.claude.tool_results import WORDS
from importers.claude.user_records import user_record


class Speech:
    """Turns records into items; keeps what later records need in the state."""

    def __init__(
        self, state: State, side_folder: Path, left_out: dict[str, int] | None = None
    ) -> None:
        self._state = state
        self._out = Collected(state, side_folder, {} if left_out is None else left_out)
        self._turns: dict[str, str | None] = {}

    def items(self) -> list[Item]:
        """Return what was said since the start of the batch."""
        return [*self._out.items, *self._out.usage.values()]

    def close(self, nodes: NodeIndex) -> list[Item]:
        """Return what is interrupted because no process writes the session any more."""
        state = self._state
        for call_id, call in state.calls.items():
            node = nodes.get(call.uuid)
            self._out.items.append(
                Event(
                    identity=(call.uuid, str(call.block)),
                    kind=Kind.TOOL_RESULT,
                    role="tool",
                    text="",
                    at=call.at,
                    depth=call.depth,
                    record=call.record,
                    block=call.block + WORDS,
                    turn=call.turn,
                    call_id=call_id,
                    tool=call.tool,
                    status="interrupted",
                    cwd=call.cwd,
                    active=node is None or node.active,
                )
            )
        if state.open is not None:
            self._out.items.append(
                Turn(
                    turn=state.open,
                    state="interrupted",
                    record=state.open_record,
                    ended_at=state.facts.last_at,
                )
            )
        state.calls, state.open = {}, None
        return self._out.items

    def hear(self, record: Record) -> None:
        """Take in one record; records come in conversation order."""
        envelope, twig = record.envelope, record.twig
        record.turn = envelope.prompt_id or self._turns.get(twig.parent or "", self._state.turn)
        kind = envelope.type
        if kind == "user":
            user_record(self._out, record)
        elif kind == "assistant":
            assistant_record(self._out, record)
        elif kind == "attachment":
            attachment_record(self._out, record)
        elif kind == "system":
            system_record(self._out, record)
        else:
            self._out.leave("bookkeeping" if kind == "progress" else f"unknown:{kind[:60]}")
        self._turns[twig.uuid] = record.turn
        self._state.turn = record.turn

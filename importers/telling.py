"""From what a record says to items: the rules that hold for every harness.

A reader decides what a record is and where it stands; a `Teller` makes the events and keeps what
later records need: open calls, the open turn. The rules: our own briefings never become words, and
the delivery id in one is a sighting; the output of our own commands is a stub, its receipts are
kept; encoded binary is replaced; a call without a result is interrupted once nobody writes the
session any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from importers import own_output
from importers.base import (
    Event,
    Item,
    Json,
    Kind,
    LeftOut,
    Limit,
    NodeIndex,
    Receipt,
    Sighting,
    Turn,
    Usage,
)
from importers.binary import without_binary, without_data_uris
from importers.calls import Tools

OPEN_CALLS: Final = 512
BEHIND: Final = 1000
"""Added to the block number of what belongs behind everything else of its record."""


class OpenCall(msgspec.Struct, array_like=True):
    """A tool call that has no result yet."""

    identity: list[str]
    depth: int
    record: int
    block: int
    tool: str
    at: int
    turn: str | None
    detail: str
    own: bool
    """It runs our own program."""
    cwd: str | None = None
    node: str | None = None
    """Its record in a tree store, which tells whether it is on the live branch."""


class Told(msgspec.Struct, omit_defaults=True):
    """What a teller keeps between reads, as a part of the cursor."""

    calls: dict[str, OpenCall] = {}
    turn: str | None = None
    """Turn of the last record."""
    open: str | None = None
    """Turn that has neither ended nor failed."""
    open_record: int = 0
    last_at: int = 0


class Place(NamedTuple):
    """Where a record stands in its session."""

    identity: tuple[str, ...]
    """Of the record; a block number is added for each of its events."""
    at: int
    record: int
    depth: int = 0
    active: bool = True
    turn: str | None = None
    """None: the turn of the record before it."""
    cwd: str | None = None
    node: str | None = None
    """Name of the record in a tree store."""


class Teller:
    """Makes the items of one batch; `take` returns them and starts the next."""

    def __init__(self, state: Told, tools: Tools) -> None:
        self.state = state
        self._tools = tools
        self._items: list[Item] = []
        self._left_out: dict[str, int] = {}
        self._sighted: set[tuple[str, int]] = set()

    def take(self) -> list[Item]:
        """Return what was said since the last call, what was left out at the end."""
        left = [LeftOut(kind=kind, number=count) for kind, count in self._left_out.items()]
        items = [*self._items, *left]
        self._items, self._left_out = [], {}
        return items

    def add(self, *items: Item) -> None:
        """Add items that need no rule: plans, usage, limits, file facts, losses."""
        self._items += items

    def leave(self, kind: str, number: int = 1) -> None:
        """Count records of a class that is never stored."""
        self._left_out[kind] = self._left_out.get(kind, 0) + number

    # --- words

    def user(self, place: Place, text: str, *, block: int = 0, opens: bool = True) -> bool:
        """Take in a person's words, and the briefing that stood before them; True if any are left.

        `opens`: they begin a turn, named by the place.
        """
        words = self.without_briefings(place, text)
        if not words.strip():
            return False
        if opens:
            self.turn_open(place)
        self._event(place, Kind.USER_MESSAGE, "user", words, block=block)
        return True

    def assistant(self, place: Place, text: str, *, block: int = 0) -> None:
        """Take in what the model said; a briefing that it repeats is no delivery."""
        rest, found = own_output.without_briefings(without_data_uris(text))
        if found:
            self.leave("briefing", len(found))
        if rest.strip():
            self._event(place, Kind.ASSISTANT_MESSAGE, "assistant", rest, block=block)

    def injected(self, place: Place, text: str) -> None:
        """Take in context that the harness or we put there; a delivery id in it is a sighting."""
        found = own_output.DELIVERY.findall(text)
        self.leave("briefing" if found else "injected")
        self._sight(place, found)

    def without_briefings(self, place: Place, text: str) -> str:
        """Return a delivered text without our briefings; each of them is a sighting."""
        rest, found = own_output.without_briefings(without_data_uris(text))
        if found:
            self.leave("briefing", len(found))
            self._sight(place, (name for name in found if own_output.DELIVERY.fullmatch(name)))
        return rest

    def compaction(
        self, place: Place, meta: Mapping[str, Json], *, context_tokens: int | None = None
    ) -> None:
        """Take in that the conversation was compacted; the summary is nobody's word."""
        self._event(place, Kind.COMPACTION, None, "Conversation compacted", meta=meta)
        self.add(Usage(at=place.at, context_tokens=context_tokens, compactions=1))

    # --- tools

    def call(
        self,
        place: Place,
        call_id: str,
        tool: str,
        given: Json,
        *,
        block: int = 0,
        role: str = "assistant",
    ) -> None:
        """Take in a tool call; `role` user: a command that the person ran.

        The oldest open call makes room when there are too many.
        """
        given = without_binary(given)
        self.state.calls[call_id] = OpenCall(
            identity=[*place.identity, str(block)],
            depth=place.depth,
            record=place.record,
            block=block,
            tool=tool,
            at=place.at,
            turn=place.turn or self.state.turn,
            detail=self._tools.detail(tool, given),
            own=self._tools.is_own(tool, given),
            cwd=place.cwd,
            node=place.node,
        )
        while len(self.state.calls) > OPEN_CALLS:
            del self.state.calls[next(iter(self.state.calls))]
        self._event(
            place,
            Kind.TOOL_CALL,
            role,
            self._tools.label(tool, given),
            block=block,
            call_id=call_id,
            tool=tool,
            tool_input=given,
        )

    def result(
        self,
        place: Place,
        call_id: str,
        text: str,
        *,
        status: str,
        exit_code: int | None = None,
        tool: str | None = None,
        block: int = 0,
        created: bool = False,
        meta: Mapping[str, Json] | None = None,
    ) -> OpenCall | None:
        """Take in a result, and what follows from it for a file; returns the call if it is known.

        `status` is ok, error, interrupted or unknown; `created`: a writing tool made a new file.
        """
        call = self.state.calls.pop(call_id, None)
        tool = call.tool if call is not None else tool
        self._event(
            place,
            Kind.TOOL_RESULT,
            "tool",
            self._ours(place, call, without_data_uris(text), call_id),
            block=block,
            call_id=call_id,
            tool=tool,
            exit_code=exit_code,
            status=status,
            meta=meta,
        )
        if call is not None and status == "ok":
            fact = self._tools.file_fact(call.tool, call.detail, place.at, created=created)
            if fact is not None:
                self.add(fact)
        return call

    def _ours(self, place: Place, call: OpenCall | None, text: str, call_id: str) -> str:
        """Return a result's text without what this program printed; keeps receipts."""
        if call is not None and call.own:
            self.leave("own_output")
            for line in own_output.receipts(text):
                self.add(Receipt(line=line, call_id=call_id, record=place.record))
            return own_output.STUB
        rest, found = own_output.without_briefings(text)
        if found:
            self.leave("own_output", len(found))
        return f"{rest}\n{own_output.STUB}".lstrip() if found else rest

    # --- turns

    def turn_open(self, place: Place) -> None:
        """Say that a turn begins; one that was still open is interrupted."""
        name = place.turn or "/".join(place.identity)
        state = self.state
        if state.open is not None and state.open != name:
            self._turn_item(state.open, "interrupted", state.open_record, place.at)
        if state.open != name:
            self.add(Turn(turn=name, state="open", record=place.record, started_at=place.at))
        state.turn, state.open, state.open_record = name, name, place.record

    def turn_end(self, place: Place, state: str = "complete", error: str | None = None) -> None:
        """Say what became of the turn of the record: complete, interrupted or failed."""
        name = place.turn or self.state.turn
        if name is None:
            return
        self._turn_item(name, state, place.record, place.at, error)
        if self.state.open == name:
            self.state.open = None

    def limit(self, place: Place, message: str, resets_at: int | None = None) -> None:
        """Say that the provider refused to go on."""
        self.add(Limit(at=place.at, message=message, resets_at=resets_at))

    def _turn_item(
        self, name: str, state: str, record: int, at: int, error: str | None = None
    ) -> None:
        self.add(Turn(turn=name, state=state, record=record, error=error, ended_at=at))

    def close(self, nodes: NodeIndex | None = None) -> None:
        """Say what is interrupted because no process writes the session any more."""
        state = self.state
        for call_id, call in state.calls.items():
            node = None if nodes is None or call.node is None else nodes.get(call.node)
            self.add(
                Event(
                    identity=tuple(call.identity),
                    kind=Kind.TOOL_RESULT,
                    role="tool",
                    text="",
                    at=call.at,
                    depth=call.depth,
                    record=call.record,
                    block=call.block + BEHIND,
                    turn=call.turn,
                    call_id=call_id,
                    tool=call.tool,
                    status="interrupted",
                    cwd=call.cwd,
                    active=node is None or node.active,
                )
            )
        if state.open is not None:
            self._turn_item(state.open, "interrupted", state.open_record, state.last_at)
        state.calls, state.open = {}, None

    # --- events

    def _sight(self, place: Place, found: Iterable[str]) -> None:
        for delivery in found:
            if (delivery, place.record) not in self._sighted:
                self._sighted.add((delivery, place.record))
                self.add(
                    Sighting(
                        delivery=delivery,
                        depth=place.depth,
                        record=place.record,
                        active=place.active,
                    )
                )

    def _event(
        self,
        place: Place,
        kind: Kind,
        role: str | None,
        text: str,
        *,
        block: int = 0,
        call_id: str | None = None,
        tool: str | None = None,
        tool_input: Json = None,
        exit_code: int | None = None,
        status: str | None = None,
        meta: Mapping[str, Json] | None = None,
    ) -> None:
        self.state.last_at = max(self.state.last_at, place.at)
        self.add(
            Event(
                identity=(*place.identity, str(block)),
                kind=kind,
                role=role,
                text=text,
                at=place.at,
                depth=place.depth,
                record=place.record,
                block=block,
                turn=place.turn or self.state.turn,
                call_id=call_id,
                tool=tool,
                tool_input=tool_input,
                exit_code=exit_code,
                status=status,
                cwd=place.cwd,
                active=place.active,
                meta=meta or {},
            )
        )

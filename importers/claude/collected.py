"""What the records of a batch have said so far, and the state that later records need."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from importers.base import Event, Item, Json, Kind, Turn, Usage
from importers.claude.records import EMPTY, Envelope, Message
from importers.claude.state import State
from importers.tree import Twig


@dataclass(slots=True, eq=False)
class Record:
    """A tree record: decoded envelope and message, its place, its time."""

    envelope: Envelope
    message: Message | None
    twig: Twig
    at: int
    turn: str | None = None


class Collected:
    """Items of one batch, in the order in which they were said."""

    def __init__(self, state: State, side: Path, left_out: dict[str, int]) -> None:
        self.state = state
        self.side = side
        """The session's own folder, beside its file."""
        self.left_out = left_out
        self.items: list[Item] = []
        self.usage: dict[str, Usage] = {}
        """By API message, since the last other figures: the last row of a message counts."""
        self.sighted: set[str] = set()

    def leave(self, kind: str) -> None:
        """Count a record of a class that is never stored."""
        self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def event(
        self,
        record: Record,
        kind: Kind,
        role: str | None,
        text: str,
        *,
        block: int = 0,
        place: int | None = None,
        at: int | None = None,
        call_id: str | None = None,
        tool: str | None = None,
        tool_input: Json = None,
        exit_code: int | None = None,
        status: str | None = None,
        meta: dict[str, Json] | None = None,
    ) -> None:
        """Add an event of a record; `place` is its block in the order, where it differs."""
        twig = record.twig
        self.items.append(
            Event(
                identity=(twig.uuid, str(block)),
                kind=kind,
                role=role,
                text=text,
                at=record.at if at is None else at,
                depth=twig.depth,
                record=twig.record,
                block=block if place is None else place,
                turn=record.turn,
                call_id=call_id,
                tool=tool,
                tool_input=tool_input,
                exit_code=exit_code,
                status=status,
                cwd=record.envelope.cwd,
                active=twig.active,
                meta=meta or {},
            )
        )

    def measure(self, record: Record, figures: Usage) -> None:
        """Take figures that hold from here on, after those of the messages so far.

        Copies in a `/branch` are what the other session's context held, not this one's.
        """
        self.items += self.usage.values()
        self.usage = {}
        if record.envelope.forked_from is EMPTY:
            self.items.append(figures)

    def turn(self, record: Record, state: str, error: str | None = None) -> None:
        """Say what became of the record's turn; the state keeps which one is open."""
        if record.turn is None:
            return
        opens = state == "open"
        self.items.append(
            Turn(
                turn=record.turn,
                state=state,
                record=record.twig.record,
                error=error,
                started_at=record.at if opens else None,
                ended_at=None if opens else record.at,
            )
        )
        if opens:
            self.state.open, self.state.open_record = record.turn, record.twig.record
        elif self.state.open == record.turn:
            self.state.open = None

    def abandon(self, record: Record) -> None:
        """Count a turn as interrupted that was still open when the next prompt came."""
        state = self.state
        if state.open is not None and state.open != record.turn:
            self.items.append(
                Turn(
                    turn=state.open,
                    state="interrupted",
                    record=state.open_record,
                    ended_at=record.at,
                )
            )

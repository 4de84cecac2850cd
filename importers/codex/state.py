"""The reader's cursor: one JSON text, small and independent of the session's length."""

from __future__ import annotations

from typing import Final

import msgspec

VERSION: Final = 1
MAX_COUNTS: Final = 32
MAX_DONE: Final = 64
MAX_PENDING: Final = 256
MAX_PROMPTS: Final = 200


class Pending(msgspec.Struct):
    """A call that was requested and has neither an item nor a final answer yet."""

    name: str
    arguments: str
    record: int
    at: int
    turn: str | None
    active: bool
    outcome: str | None = None
    """`interrupted` or `running`: the answer came, but an item may still follow."""
    text: str = ""


class Context(msgspec.Struct):
    """What the meaning of a segment's next record depends on."""

    turn: str | None = None
    turn_record: int = 0
    """Where the current turn began."""
    prompted: bool = False
    """The current turn has a user message already."""
    error: str | None = None
    cwd: str | None = None
    model: str | None = None
    at: int | None = None
    """Time of the last record that was translated; stands in for a missing one."""
    last_at: int | None = None
    """Time of the last record that was read."""
    counts: dict[str, int] = {}
    """How often each of the last (role, time) keys was seen: the n-th part of an identity."""
    pending: dict[str, Pending] = {}
    done: list[str] = []
    """Call ids that were finished lately, so that a second source for one is dropped."""
    cut: dict[str, str] = {}
    """Call id -> tool of calls that were yielded as interrupted because the session seemed closed:
    when it goes on after all, the real result is still to be yielded."""
    styles: dict[str, str] = {}
    """Per role: whether messages come as items or as older events; then the others are doubles."""
    items: bool = False
    """Tools come as items: a call without one is not a finished tool."""
    prompts: list[int] = []
    """First record of each user turn that was not rolled back; older threads roll back by count."""
    window: int | None = None
    resets_at: int | None = None


class Copy(msgspec.Struct):
    """History that an older fork copied into its own file."""

    own_from: int
    """First line that is the fork's own."""
    below: int
    """First line of the parent that was not copied."""
    settled: bool


class Progress(msgspec.Struct):
    """How far one segment was read."""

    position: list[int | str] | None = None
    below: int | None = None
    """Ordinal from which the segment was superseded, as last told; None: not at all."""
    limit: int | None = None
    """Ordinal below which an ancestor was inherited completely."""
    context: Context = msgspec.field(default_factory=Context)


class Child(msgspec.Struct):
    """How far a subagent's thread was read."""

    position: list[int | str] | None = None
    context: Context = msgspec.field(default_factory=Context)


class State(msgspec.Struct):
    """Everything a later read needs."""

    version: int = VERSION
    thread: str = ""
    segments: dict[str, Progress] = {}
    copies: dict[str, Copy] = {}
    children: dict[str, Child] = {}
    told: list[str] = []
    """Losses that were reported already and do not belong to a record."""


_DECODER: Final = msgspec.json.Decoder(State)


def dump(state: State) -> str:
    """Return the state as text."""
    return msgspec.json.encode(state).decode()


def load(text: str | None) -> State | None:
    """Return the state, or None if there is none that this version wrote."""
    if text is None:
        return None
    try:
        state = _DECODER.decode(text)
    except msgspec.DecodeError:
        return None
    return state if state.version == VERSION else None

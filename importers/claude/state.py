"""The reader's cursor: how far the files were read, and what later records need to know of earlier.

It is stored with every batch, so everything in it is bounded. A cursor of another version, or one
that does not fit the files or the stored tree, leads to a re-scan.
"""

from __future__ import annotations

from typing import Final

import msgspec

from importers import jsonl
from importers.session_facts import Facts
from importers.tree import TreeState

VERSION: Final = 1
OPEN_CALLS: Final = 512
RECENT_MESSAGES: Final = 8
TASKS: Final = 500


class Call(msgspec.Struct, array_like=True):
    """A tool call that has no result yet."""

    uuid: str
    block: int
    depth: int
    record: int
    tool: str
    at: int
    turn: str | None
    detail: str
    """Path of a file tool, command of a shell, JSON of a task tool's input."""
    own: bool
    """It runs our own program."""
    cwd: str | None = None


class Spoken(msgspec.Struct, array_like=True):
    """An API message whose lines may go on."""

    id: str
    uuids: list[str]
    """Records that carry a part of it."""
    texts: list[str]
    """Digests of its text blocks: a repeated line has another uuid."""
    usage: list[int | None] = []


class AgentState(msgspec.Struct, array_like=True):
    """How far a subagent's transcript was read."""

    position: list[int | str]
    calls: dict[str, list[str]]
    """Open calls: tool and detail."""


class State(msgspec.Struct, omit_defaults=True):
    """Everything that a read leaves behind for the next one."""

    version: int
    position: list[int | str] | None = None
    tree: TreeState = msgspec.field(default_factory=TreeState)
    facts: Facts = msgspec.field(default_factory=Facts)
    turn: str | None = None
    """Turn of the last record."""
    open: str | None = None
    """Turn that has neither ended nor failed."""
    open_record: int = 0
    calls: dict[str, Call] = {}
    messages: list[Spoken] = []
    tasks: dict[str, list[str]] = {}
    """Task id -> subject and status."""
    unnamed: int = 0
    """Records without a uuid so far; numbers them."""
    shell: str | None = None
    """Call id of the person's last `!` line."""
    agents: dict[str, AgentState] = {}

    def dump(self) -> str:
        """Return the cursor as JSON."""
        return ENCODER.encode(self).decode()


ENCODER: Final = msgspec.json.Encoder()
DECODER: Final = msgspec.json.Decoder(State)


def load(text: str | None) -> State | None:
    """Return a stored cursor, None if there is none that this reader understands."""
    if text is None:
        return None
    try:
        state = DECODER.decode(text)
    except msgspec.DecodeError:
        return None
    if state.version != VERSION or jsonl.Position.load(state.position) is None:
        return None
    return state

"""What the ledger takes in from a native session.

The types are structural, so that a reader's own items (`importers/base.py`) can be handed over
without being copied. The fields mean what they mean there. Text is unscrubbed; the ledger scrubs
before it stores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

# ruff: noqa: D102  (each field is described in importers/base.py, where it is produced)


class NewEvent(Protocol):
    """One visible thing."""

    @property
    def identity(self) -> tuple[str, ...]: ...
    @property
    def kind(self) -> str: ...
    @property
    def role(self) -> str | None: ...
    @property
    def text(self) -> str: ...
    @property
    def at(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def record(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def turn(self) -> str | None: ...
    @property
    def call_id(self) -> str | None: ...
    @property
    def tool(self) -> str | None: ...
    @property
    def tool_input(self) -> Any: ...  # noqa: ANN401  (any JSON value)
    @property
    def exit_code(self) -> int | None: ...
    @property
    def status(self) -> str | None: ...
    @property
    def cwd(self) -> str | None: ...
    @property
    def active(self) -> bool: ...
    @property
    def meta(self) -> Mapping[str, Any]: ...


class NewLoss(Protocol):
    """Something that could not be imported."""

    @property
    def position(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def length(self) -> int | None: ...
    @property
    def record(self) -> int: ...


class NewMark(Protocol):
    """Records [first, last] became superseded, or active again."""

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
    @property
    def active(self) -> bool: ...


class NewSighting(Protocol):
    """A delivery id found in the session."""

    @property
    def delivery(self) -> str: ...
    @property
    def depth(self) -> int: ...
    @property
    def record(self) -> int: ...
    @property
    def active(self) -> bool: ...


class NewReceipt(Protocol):
    """A line that one of our own commands printed."""

    @property
    def line(self) -> str: ...
    @property
    def call_id(self) -> str: ...
    @property
    def record(self) -> int: ...


class NewTurn(Protocol):
    """State of a turn."""

    @property
    def turn(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def record(self) -> int: ...
    @property
    def error(self) -> str | None: ...
    @property
    def started_at(self) -> int | None: ...
    @property
    def ended_at(self) -> int | None: ...


class NewPlan(Protocol):
    """The harness's own plan; replaces the one before."""

    @property
    def items(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def at(self) -> int: ...


class NewUsage(Protocol):
    """Token figures."""

    @property
    def at(self) -> int: ...
    @property
    def model(self) -> str | None: ...
    @property
    def context_tokens(self) -> int | None: ...
    @property
    def limit_tokens(self) -> int | None: ...
    @property
    def output_tokens(self) -> int | None: ...
    @property
    def compactions(self) -> int: ...
    @property
    def exceeded(self) -> bool | None: ...


class NewLimit(Protocol):
    """A provider's refusal."""

    @property
    def at(self) -> int: ...
    @property
    def message(self) -> str: ...
    @property
    def resets_at(self) -> int | None: ...


class NewFileFact(Protocol):
    """A file was read or changed."""

    @property
    def path(self) -> str: ...
    @property
    def action(self) -> str: ...
    @property
    def at(self) -> int: ...
    @property
    def agent(self) -> str: ...


class NewCheck(Protocol):
    """A command that a subagent ran."""

    @property
    def agent(self) -> str: ...
    @property
    def call_id(self) -> str: ...
    @property
    def command(self) -> str: ...
    @property
    def exit_code(self) -> int | None: ...
    @property
    def at(self) -> int: ...


class NewFacts(Protocol):
    """What a session says about itself; None changes nothing."""

    @property
    def cwd(self) -> str | None: ...
    @property
    def parent(self) -> str | None: ...
    @property
    def one_shot(self) -> bool | None: ...
    @property
    def model(self) -> str | None: ...
    @property
    def provider(self) -> str | None: ...
    @property
    def version(self) -> str | None: ...
    @property
    def title(self) -> str | None: ...
    @property
    def started_at(self) -> int | None: ...
    @property
    def last_at(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Placed:
    """A loss at its place among the events of a batch."""

    loss: NewLoss


@dataclass(slots=True, kw_only=True)
class Additions:
    """What one batch brings, sorted by what it is; events and losses in conversation order."""

    records: list[NewEvent | Placed] = field(default_factory=list)
    marks: list[NewMark] = field(default_factory=list)
    sightings: list[NewSighting] = field(default_factory=list)
    receipts: list[NewReceipt] = field(default_factory=list)
    turns: list[NewTurn] = field(default_factory=list)
    plan: NewPlan | None = None
    usage: list[NewUsage] = field(default_factory=list)
    limits: list[NewLimit] = field(default_factory=list)
    files: list[NewFileFact] = field(default_factory=list)
    checks: list[NewCheck] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorStep:
    """The move of a session's cursor that belongs to a batch."""

    expected: int | None
    """Version that was read; None: there was no cursor."""
    state: str
    signature: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Where events come from: columns that a ledger cannot grow later."""

    owner: str
    """User name of the person."""
    host: str
    """Host id."""
    store: int | None = None
    """native_store.id; filled in by the import."""
    cwd: str | None = None
    """Working directory, where an event has none of its own."""
    head: str | None = None
    """Git head, when known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """A new annotation, for summaries."""

    reason: str
    position: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a batch changed."""

    imported: Mapping[str, int]
    """New events by kind."""
    known: int
    """Events that were in the workstream already."""
    annotations: Sequence[Annotated]
    redactions: Mapping[str, int]
    """Secrets replaced, by marker type."""
    forgotten: int
    """Events kept out by a tombstone."""
    version: int
    """Cursor version now."""
    head_seq: int

"""What an importer is: the contract between a native store's reader and the ledger.

A reader only reads: it opens with `O_RDONLY`, takes no lock, leaves no file, no changed mtime. It
streams, so that memory does not grow with the session, and yields *items* in batches. The glue
(`importers/service.py`) scrubs, assigns ids and sequence, and commits each batch together with the
reader's own state. Nothing here knows the ledger; an adapter author needs only this module.

Rules every reader keeps:

- "Cannot read" is never "empty": it raises `StoreUnreadable` or yields a `Loss`.
- A complete line that cannot be parsed is a `Loss`; an unterminated last line is not consumed.
- Injected context, hidden reasoning and our own briefings never become events; they are counted
  with `LeftOut`. A briefing's delivery id found in a record is a `Sighting`.
- Identity never depends on text, offsets, JSON whitespace or key order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


_NONE: Final[Mapping[str, Json]] = MappingProxyType({})


class Kind(StrEnum):
    """Kinds of event a native session can yield (the ledger adds checkpoint and annotation)."""

    USER_MESSAGE = "user_message"
    ASSISTANT_MESSAGE = "assistant_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    COMPACTION = "compaction"


class StoreState(StrEnum):
    """What was found of a session in its native store."""

    PRESENT = "present"
    ARCHIVED = "archived"
    """Still there, but the harness refuses to resume it as it is."""
    MISSING = "missing"
    """Definitely absent: the places where it could be were readable and do not hold it."""
    UNREADABLE = "unreadable"
    """There, or perhaps there, but it cannot be read; `detail` says why."""


class StoreUnreadable(Exception):  # noqa: N818  (states a fact about the store)
    """A store or a session in it cannot be read; the text names the path and the reason."""


class Source(NamedTuple):
    """Where a native session lives: what `locate` and `discover` return."""

    harness: str
    home: Path
    native_id: str
    state: StoreState
    paths: tuple[Path, ...] = ()
    """Files that make up the session, in order; the last one is being appended to."""
    detail: str | None = None
    """Reason when unreadable; how to get it back when archived."""
    signature: str = ""
    """Changes whenever any byte of the files may have changed (device, inode, size, mtime, ctime of
    each). Equal signatures mean that nothing is new; different ones mean "look"."""
    changed_at: int | None = None
    """When the session last changed, milliseconds, where the store says so: for stores that keep
    many sessions in one file. None: its files' times tell."""

    @property
    def path(self) -> Path | None:
        """The file that is appended to, when there is one."""
        return self.paths[-1] if self.paths else None


class SessionFacts(NamedTuple):
    """What a session says about itself. Fields that are not known are None and change nothing."""

    native_id: str
    cwd: str | None = None
    """Last working directory recorded."""
    first_cwd: str | None = None
    """Working directory it was created in."""
    parent: str | None = None
    """Native id of the session it was forked or branched from."""
    subagent_of: str | None = None
    """Set when this is a subagent's session: never imported as its own, never resumed."""
    one_shot: bool | None = None
    """Created by a non-interactive call (`exec`, `-p`)."""
    model: str | None = None
    provider: str | None = None
    version: str | None = None
    title: str | None = None
    started_at: int | None = None
    """Milliseconds since the epoch, from the store, never from the import."""
    last_at: int | None = None


# --- items --------------------------------------------------------------------------------------


class Event(NamedTuple):
    """One visible thing. `identity` + `kind` make the event id."""

    identity: tuple[str, ...]
    """Stable across resume, fork, rewrite, migration and relocation; harness name excluded.
    Mostly (record id, block number), or (session, timestamp, kind, n-th) or
    (thread, call id)."""
    kind: Kind
    role: str | None
    """user, assistant or tool."""
    text: str
    """Whole visible text, unscrubbed. May hold anything that JSON can hold."""
    at: int
    """The source's own time, milliseconds since the epoch."""
    depth: int
    record: int
    block: int = 0
    """Conversation order inside the session: (depth, record, block). `record` numbers native
    records and never changes for a record that stays in place; branch marks refer to it."""
    turn: str | None = None
    call_id: str | None = None
    tool: str | None = None
    tool_input: Json = None
    exit_code: int | None = None
    status: str | None = None
    """For tool results: ok, error, interrupted, unknown."""
    cwd: str | None = None
    active: bool = True
    meta: Mapping[str, Json] = _NONE


class Mark(NamedTuple):
    """Records [first, last] of this session became superseded, or active again."""

    first: int
    last: int
    active: bool


class Sighting(NamedTuple):
    """One of our delivery ids, found in a context record of the session."""

    delivery: str
    depth: int
    record: int
    active: bool = True


class Receipt(NamedTuple):
    """A line that one of our own commands printed inside the harness: `workstream-receipt/1 …`."""

    line: str
    call_id: str
    record: int


class Turn(NamedTuple):
    """State of a turn: open, complete, interrupted, failed. The last item for a turn counts."""

    turn: str
    state: str
    record: int
    error: str | None = None
    started_at: int | None = None
    ended_at: int | None = None


class Plan(NamedTuple):
    """The harness's own plan or todo list as it stands now; replaces the one before."""

    items: tuple[tuple[str, str], ...]
    """(text, pending | in_progress | completed)"""
    at: int


class Usage(NamedTuple):
    """Token figures as the store has them; never estimated."""

    at: int
    model: str | None = None
    context_tokens: int | None = None
    limit_tokens: int | None = None
    output_tokens: int | None = None
    compactions: int = 0
    """Compactions newly seen with this item; added up."""
    exceeded: bool | None = None
    """True: the harness says that the context is full, a request did not fit. False: one was
    answered, or the context was compacted, after that. None: neither was said."""


class Limit(NamedTuple):
    """A provider refused to go on: quota, rate or usage limit."""

    at: int
    message: str
    resets_at: int | None = None


class FileFact(NamedTuple):
    """A file was read or changed by a tool of this session or of one of its subagents."""

    path: str
    action: str
    """read, edit, create, delete"""
    at: int
    agent: str = ""


class AgentCheck(NamedTuple):
    """A command that a subagent ran, with its outcome."""

    agent: str
    call_id: str
    command: str
    exit_code: int | None
    at: int


class LeftOut(NamedTuple):
    """Records of a class that is never stored.

    Kinds: reasoning, injected, briefing, bookkeeping, subagent, own_output, `unknown:<type>`.
    """

    kind: str
    number: int = 1


class Loss(NamedTuple):
    """Something that could not be imported; becomes an annotation, once per position."""

    position: str
    """File name and byte offset (or row id): "rollout-….jsonl@1234"; stable for the same loss."""
    reason: str
    """torn_line, undecodable, too_large, missing_parent, unreadable, unknown_version, …"""
    detail: str
    length: int | None = None
    """Bytes that were skipped."""
    record: int = 0


Item: TypeAlias = (
    Event
    | Mark
    | Sighting
    | Receipt
    | Turn
    | Plan
    | Usage
    | Limit
    | FileFact
    | AgentCheck
    | LeftOut
    | Loss
)


class Batch(NamedTuple):
    """A bounded step of a read: committed together with `state`, or not at all."""

    items: tuple[Item, ...]
    state: str
    """The reader's cursor after this batch, as JSON; handed back to `read` next time."""
    facts: SessionFacts
    """What is known of the session so far."""
    read_bytes: int
    """Source bytes consumed by this batch, for progress."""


class Node(NamedTuple):
    """A record of a tree store, kept by the ledger so that branch state costs only new records."""

    uuid: str
    parent: str | None
    depth: int
    record: int
    active: bool


class NodeIndex(Protocol):
    """The tree of one session: what earlier reads stored and what this read has put."""

    def get(self, uuid: str) -> Node | None:
        """Return the node, or None."""

    def children(self, uuid: str) -> list[Node]:
        """Return the nodes whose parent is `uuid`, by record."""

    def put(self, node: Node) -> None:
        """Add or replace a node; written in the transaction of the batch that is yielded next."""

    def clear(self) -> None:
        """Say that the read starts over: call it before the first record of a re-scan.

        Nodes and record numbers known so far are not valid any more; the re-scan sets them anew.
        A reader without a tree calls it too.
        """


# --- the importer -------------------------------------------------------------------------------


class Limits(NamedTuple):
    """Bounds of one read."""

    batch_items: int = 2000
    batch_bytes: int = 4 * 1024 * 1024
    """Source bytes per batch: a batch ends after the record that passes it."""
    max_line: int = 64 * 1024 * 1024
    """A longer record is skipped with a `Loss` (too_large), without being held in memory."""


class Importer(Protocol):
    """Reader of one harness's native store."""

    name: str
    """The harness's name in the registry."""
    versions: tuple[str, ...]
    """Version prefixes whose stores were verified, oldest first; others are reported."""

    def home(self, env: Mapping[str, str]) -> Path:
        """Return the store home for an environment; a blank variable counts as unset.

        The one resolver for launcher, importer and child. Raises nothing; the path may not exist.
        """

    def locate(self, home: Path, native_id: str) -> Source:
        """Find a session by id, wherever the harness may have moved it; never guesses."""

    def discover(self, home: Path) -> Iterator[Source]:
        """Yield every session that is not a subagent's, newest first, from names and listings only.

        Odd entries (dangling links, FIFOs, unreadable files) are yielded with state UNREADABLE.
        """

    def describe(self, source: Source) -> SessionFacts:
        """Read the head of a session (bounded) for its own id, directory, version and parentage.

        Raises StoreUnreadable. `subagent_of` is set when it must not be imported on its own.
        """

    def read(
        self, source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
    ) -> Iterator[Batch]:
        """Yield what is new since `state` (None: from the start), in conversation order per batch.

        `closed` says that no process writes the session any more: then a call without a result is
        yielded as interrupted. A state that does not fit the files any more (truncated, rewritten,
        replaced, moved) leads to a re-scan from the start: ids deduplicate. Raises StoreUnreadable.
        At least one batch is yielded, even when nothing is new, unless the state would not change.
        """

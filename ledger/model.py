"""What the ledger's rows look like to the rest of the program: closed vocabularies and records.

Standard library only, no SQL: every layer may import it. Times are milliseconds since
the Unix epoch, UTC. `id` fields are row ids of this database, good inside one store only; `uid`,
`event_id` and native ids are good everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class EventKind(StrEnum):
    """Kinds of event in the log."""

    USER_MESSAGE = "user_message"
    ASSISTANT_MESSAGE = "assistant_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    COMPACTION = "compaction"
    CHECKPOINT = "checkpoint"
    ANNOTATION = "annotation"


class Origin(StrEnum):
    """How an event came to be known."""

    RUN = "run"
    """Made during a managed run."""
    OUTSIDE = "outside"
    """Made in a linked session while no run of ours was going on, or adopted."""
    ARCHIVE = "archive"
    """Backfilled history."""


class Branch(StrEnum):
    """Whether an event is on the active chain of its session."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"


class Step(StrEnum):
    """Steps of a run in their order; a step is stored once everything up to it is committed."""

    PLANNED = "planned"
    BRIEFED = "briefed"
    SPAWNING = "spawning"
    """The child exists and waits for the launcher's word; its pid is stored."""
    RUNNING = "running"
    ENDED = "ended"
    """The exit status is stored."""
    IMPORTED = "imported"
    VERIFIED = "verified"
    CHECKPOINTED = "checkpointed"
    RECEIPTS = "receipts"
    DRAFTED = "drafted"
    CLOSED = "closed"


class Outcome(StrEnum):
    """How a run ended for the ledger; the child's own status is beside it."""

    ENDED = "ended"
    ABANDONED = "abandoned"
    """Finished by recovery: the launcher did not live to do it."""
    SPAWN_FAILED = "spawn_failed"
    LOST = "lost"
    """The lease was taken over while it ran: imported, but nothing was moved."""


class DeliveryState(StrEnum):
    """States of a delivery."""

    PREPARED = "prepared"
    LAUNCHED = "launched"
    """Printed to the harness; not proven yet."""
    SEEN = "seen"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    """The channel leaves no proof in the native store."""


class SessionState(StrEnum):
    """What was last found of a linked session in its native store."""

    PRESENT = "present"
    ARCHIVED = "archived"
    MISSING = "missing"
    UNREADABLE = "unreadable"


class RepositoryKind(StrEnum):
    """What a repository is made of."""

    GIT = "git"
    DIRECTORY = "directory"


class RepositoryKeys(NamedTuple):
    """What a checkout can be recognised by (made by `ledger/git.py`)."""

    kind: RepositoryKind
    name: str
    """For people: last part of the directory."""
    worktree: str
    """Realpath of the work tree, or of the plain directory."""
    common_dir: str | None = None
    """Realpath of the git common directory."""
    inode: str | None = None
    """"device:inode" of the common directory: survives a rename."""
    roots: str | None = None
    """Digest of the root commits and the remote; None for shallow or empty repositories."""
    directory: str | None = None
    """Realpath of a plain directory."""


class Repository(NamedTuple):
    """A repository known to this store."""

    id: str
    name: str
    kind: RepositoryKind
    created_at: int


class Workstream(NamedTuple):
    """A named line of work."""

    id: int
    uid: str
    repository: str
    name: str
    objective: str | None
    objective_by: str | None
    objective_at: int | None
    created_at: int
    archived_at: int | None
    head_seq: int
    """Sequence number of the newest event, 0 when there is none."""


class SessionRow(NamedTuple):
    """A native session that is linked to a workstream."""

    id: int
    workstream: int
    store: int
    harness: str
    """Adapter name."""
    home: str
    """Store home it lives in."""
    entry: str
    """Harness entry it was linked under."""
    native_id: str
    store_path: str | None
    cwd: str | None
    parent_native: str | None
    model: str | None
    provider: str | None
    version: str | None
    title: str | None
    one_shot: bool
    origin: Origin
    deliver: bool
    born: str | None
    born_through: int
    state: SessionState
    state_detail: str | None
    started_at: int | None
    last_at: int | None
    linked_at: int


class LinkRow(NamedTuple):
    """Which session is the current one of (workstream, entry, store, one-shot or not)."""

    workstream: int
    entry: str
    store: int
    one_shot: bool
    session: int
    run: str | None
    updated_at: int


class RunRow(NamedTuple):
    """A managed launch."""

    id: str
    workstream: int
    entry: str
    harness: str
    store: int
    token: int
    nonce: str
    step: Step
    outcome: Outcome | None
    one_shot: bool
    mode: str | None
    native_id: str | None
    cwd: str
    worktree: str
    argv: tuple[str, ...]
    """As stored: scrubbed."""
    program: str | None
    host_id: str
    boot_id: str
    pid_ns: int
    pid: int
    pid_start: int
    child_pid: int | None
    child_start: int | None
    started_at: int
    spawned_at: int | None
    ended_at: int | None
    closed_at: int | None
    exit_code: int | None
    signal: int | None
    head_before: int
    summary: str | None
    """JSON of the finish."""


class RunSession(NamedTuple):
    """A native session that a run touched."""

    run: str
    session: int
    source: str
    ordinal: int


class EventRow(NamedTuple):
    """An event of the log, in the form that people and programs are shown."""

    eid: int
    workstream: int
    seq: int
    event_id: str
    kind: EventKind
    role: str | None
    harness: str | None
    """Harness entry; None for our own events."""
    session: str | None
    """Native id of the first session that carried it."""
    session_id: int | None
    """Row id of that session."""
    text: str
    """Whole text, or its beginning when `truncated`."""
    truncated: bool
    call_id: str | None
    tool: str | None
    tool_input: str | None
    """Scrubbed JSON, as stored."""
    exit_code: int | None
    status: str | None
    """ok, error, interrupted, unknown; the reason, for an annotation."""
    occurred_at: int
    imported_at: int
    turn: str | None
    branch: Branch
    run: str | None
    origin: Origin
    bytes: int
    """Length of the whole text in UTF-8."""


class NoteRow(NamedTuple):
    """A sentence of the person's own for the next agent."""

    id: int
    workstream: int
    kind: str
    """note, dead_end"""
    text: str
    pinned: bool
    author: str
    run: str | None
    at: int
    retired_at: int | None


class BriefingRow(NamedTuple):
    """A composed briefing; `text` holds the delivery placeholder."""

    id: int
    run: str
    purpose: str
    """session, new, clear, compact"""
    session: int | None
    text: str
    bytes: int
    after_seq: int
    through_seq: int
    included: tuple[tuple[int, int], ...]
    """[first, last] sequence ranges, ascending."""
    omitted: tuple[tuple[int, int], ...]
    marks_through: int
    notes_through: int
    handoff: str | None
    created_at: int


class DeliveryRow(NamedTuple):
    """One printing of one briefing to one native session."""

    id: str
    run: str
    briefing: int
    channel: str
    state: DeliveryState
    reason: str | None
    session: int | None
    source: str | None
    printed_at: int | None
    updated_at: int
    answer: int | None = None
    """Where proof is not possible: row of the event with which the session answered."""


class CheckpointRow(NamedTuple):
    """The state of a work tree that was recorded."""

    id: int
    workstream: int
    run: str | None
    session: int | None
    """Session whose last turn it follows."""
    seq: int
    """Sequence number of its event."""
    at: int
    worktree: str
    head: str | None
    tree: str | None
    branch: str | None
    dirty_digest: str | None
    paths: Mapping[str, tuple[str, str | None]]
    """Changed or untracked path -> (status, content hash or None)."""
    partial: str | None
    """Why it is incomplete."""


class ReceiptRow(NamedTuple):
    """A line that one of our own commands printed inside a harness; waits for its run's end."""

    digest: str
    workstream: int
    session: int
    call_id: str
    line: str
    found_at: int
    applied_at: int | None
    refused: str | None


def workstream_id(workstream: Workstream | int) -> int:
    """Return the row id: functions that take a workstream take either."""
    return workstream if isinstance(workstream, int) else workstream.id


def session_id(session: SessionRow | int) -> int:
    """Return the row id: functions that take a session take either."""
    return session if isinstance(session, int) else session.id


def run_id(run: RunRow | str) -> str:
    """Return the id: functions that take a run take either."""
    return run if isinstance(run, str) else run.id

"""The first record of a rollout: whose thread it is and where it came from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from importers.base import SessionFacts, StoreUnreadable
from importers.codex.records import (
    ENVELOPE,
    OBJECT,
    Record,
    milliseconds,
    number_of,
    object_of,
    text_of,
)
from importers.jsonl import Tail, Undecodable, blank, decode

HEAD_LINES: Final = 20
"""Lines in which the first `session_meta` is looked for; it is line 0 unless that is torn."""
HEAD_BYTES: Final = 4 * 1024 * 1024


class Base(msgspec.Struct, frozen=True):
    """Where a segment's history goes on: in another segment, below an ordinal."""

    segment: str
    below: int


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """What the first `session_meta` says. It counts; a second one marks copied history."""

    thread: str
    root: str | None = None
    cwd: str | None = None
    source: str = ""
    subagent: bool = False
    parent_thread: str | None = None
    forked_from: str | None = None
    base: Base | None = None
    paginated: bool = False
    own_from_ordinal: int | None = None
    """First ordinal of a subagent's own history; what is below was copied from its parent."""
    copied: bool = False
    """The next record is another thread's `session_meta`: history was copied into this file."""
    provider: str | None = None
    version: str | None = None
    started_at: int | None = None

    @property
    def subagent_of(self) -> str | None:
        """The thread this one works for; None for a session of its own."""
        if not self.subagent:
            return None
        return self.parent_thread or self.root or self.forked_from or self.thread

    def facts(self) -> SessionFacts:
        """Return the session facts known from this record alone."""
        return SessionFacts(
            native_id=self.thread,
            cwd=self.cwd,
            first_cwd=self.cwd,
            parent=None if self.subagent else self.forked_from,
            subagent_of=self.subagent_of,
            one_shot={"exec": True, "cli": False, "vscode": False}.get(self.source),
            provider=self.provider,
            version=self.version,
            started_at=self.started_at,
        )


def read_meta(path: Path) -> Meta | None:
    """Read the head of a rollout; None if it holds no readable `session_meta` (yet).

    Raises StoreUnreadable.
    """
    found: Record | None = None
    copied = False
    with Tail(path, None, max_line=HEAD_BYTES, chunk=64 * 1024) as tail:
        for line in tail.lines():
            if line.number >= HEAD_LINES or line.offset > HEAD_BYTES:
                break
            if blank(line.data):
                continue
            try:
                envelope = decode(line.data, ENVELOPE)
                if envelope.type != "session_meta":
                    if found is not None:
                        break
                    continue
                payload = decode(envelope.payload, OBJECT)
            except Undecodable:
                continue
            if found is not None:
                copied = True
                break
            found = payload
    return None if found is None else _meta(found, copied=copied)


def require_meta(path: Path) -> Meta:
    """Return the meta of a rollout. Raises StoreUnreadable when there is none."""
    meta = read_meta(path)
    if meta is None:
        raise StoreUnreadable(f"{path}: no session record at its start")
    return meta


def _meta(payload: Record, *, copied: bool) -> Meta:
    source = payload.get("source")
    spawn = object_of(object_of(object_of(source).get("subagent")).get("thread_spawn"))
    return Meta(
        thread=text_of(payload.get("id")),
        root=text_of(payload.get("session_id")) or None,
        cwd=text_of(payload.get("cwd")) or None,
        source=text_of(source),
        subagent=payload.get("thread_source") == "subagent" or "subagent" in object_of(source),
        parent_thread=text_of(payload.get("parent_thread_id"))
        or text_of(spawn.get("parent_thread_id"))
        or None,
        forked_from=text_of(payload.get("forked_from_id")) or None,
        base=_base(object_of(payload.get("history_base"))),
        paginated=payload.get("history_mode") == "paginated",
        own_from_ordinal=number_of(payload.get("subagent_history_start_ordinal")),
        copied=copied,
        provider=text_of(payload.get("model_provider")) or None,
        version=text_of(payload.get("cli_version")) or None,
        started_at=milliseconds(text_of(payload.get("timestamp"))),
    )


def _base(value: Record) -> Base | None:
    segment, below = text_of(value.get("thread_id")), number_of(value.get("end_ordinal_exclusive"))
    return None if not segment or below is None else Base(segment, below)

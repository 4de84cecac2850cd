"""A thread as a chain of segments: which files make it up, and what of each is still alive.

A fork refers to its parent instead of copying it, a rewind starts a second file for the same thread
whose `history_base` is the cut, and a rewind to the first prompt starts one without a base, which
supersedes all earlier ones (observed with codex 0.171.0). Older forks copied the parent's records
with new times; those copies are recognised and the parent's own records are taken instead.

Segment numbers are stable: own segments count up from `FIRST_OWN` in the order of their start,
ancestors count down from it, the nearest first, whether or not their files are there.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from importers.base import Source, StoreUnreadable
from importers.codex.meta import Base, Meta, read_meta
from importers.codex.records import (
    ENVELOPE,
    EVENT,
    OBJECT,
    RESPONSE,
    Envelope,
    object_of,
    text_of,
)
from importers.codex.state import Copy
from importers.codex.store import Rollout, list_store
from importers.codex.tools import content_text
from importers.jsonl import Tail, Undecodable, decode

FIRST_OWN: Final = 1024
MAX_ANCESTORS: Final = 1000
LINE_BITS: Final = 32
LAST_LINE: Final = (1 << LINE_BITS) - 1


@dataclass(slots=True)
class Segment:
    """One file of the chain."""

    id: str
    thread: str
    path: Path
    meta: Meta | None
    number: int
    own: bool
    limit: int | None = None
    """Ordinal at which an ancestor's inherited part ends; None for own segments: all of it."""
    below: int | None = 0
    """Ordinal from which it is superseded; None: nothing is, 0: everything is."""
    skip: int = 0
    """Ordinals (lines, where there are none) below this are copies of another thread's records."""

    @property
    def first_record(self) -> int:
        """Record number of its line 0."""
        return self.number << LINE_BITS


@dataclass(slots=True)
class Chain:
    """The segments of a thread, in conversation order; the last one is being appended to."""

    thread: str
    segments: list[Segment]
    missing: dict[str, str]
    """Segment ids that the chain refers to and that are not there or not readable: the reason."""
    copies: dict[str, Copy]

    @property
    def own(self) -> list[Segment]:
        """The thread's own segments."""
        return [segment for segment in self.segments if segment.own]


class Catalogue:
    """The rollouts of a store by id, listed once and only when somebody asks."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @cached_property
    def _rollouts(self) -> list[Rollout]:
        return list_store(self._root).rollouts

    def segment(self, segment: str) -> Rollout | None:
        """Return the file of a segment."""
        return next((each for each in self._rollouts if each.segment == segment), None)

    def thread(self, thread: str) -> list[Rollout]:
        """Return the files of a thread in the order of their start."""
        return [each for each in self._rollouts if each.thread == thread]


def resolve(source: Source, catalogue: Catalogue, copies: dict[str, Copy], max_line: int) -> Chain:
    """Return the chain of a source; `copies` is what earlier reads found out about copied history.

    Raises StoreUnreadable when the newest file cannot be read.
    """
    if not source.paths:
        raise StoreUnreadable(source.detail or f"{source.native_id}: no rollout found")
    resolver = _Resolver(catalogue, dict(copies), max_line)
    resolver.add_own(source)
    return resolver.chain(source.native_id)


class _Resolver:
    def __init__(self, catalogue: Catalogue, copies: dict[str, Copy], max_line: int) -> None:
        self._catalogue = catalogue
        self._copies = copies
        self._max_line = max_line
        self._own: list[Segment] = []
        self._ancestors: dict[str, Segment] = {}
        self._distance = 0
        self._missing: dict[str, str] = {}
        self._bases: dict[str, Base | None] = {}

    def add_own(self, source: Source) -> None:
        last = len(source.paths) - 1
        for index, path in enumerate(source.paths):
            try:
                meta = read_meta(path)
            except StoreUnreadable as error:
                if index == last:
                    raise
                self._missing[_segment_id(path)] = str(error)
                continue
            thread = (meta.thread if meta else "") or source.native_id
            segment = Segment(_segment_id(path), thread, path, meta, FIRST_OWN + index, own=True)
            if meta is not None and meta.subagent:
                segment.skip = meta.own_from_ordinal or 0
            self._own.append(segment)

    def chain(self, native_id: str) -> Chain:
        newest = self._own[-1]
        newest.below = None
        for segment in self._own:
            self._walk(segment, alive=segment is newest)
        ancestors = sorted(self._ancestors.values(), key=lambda each: each.number)
        thread = newest.thread or native_id
        return Chain(thread, [*ancestors, *self._own], self._missing, self._copies)

    def _walk(self, start: Segment, *, alive: bool) -> None:
        """Follow the bases of a segment: number ancestors, and set what they contribute."""
        segment, below, seen = start, None, {start.id}
        while base := self._base(segment):
            below = base.below if below is None else min(base.below, below)
            following = self._find(base.segment)
            if following is None or following.id in seen or len(seen) > MAX_ANCESTORS:
                return
            segment = following
            seen.add(segment.id)
            if not segment.own:
                segment.limit = max(segment.limit or 0, below)
            if alive:
                segment.below = below

    def _find(self, segment_id: str) -> Segment | None:
        known = next((each for each in self._own if each.id == segment_id), None)
        known = known or self._ancestors.get(segment_id)
        if known or segment_id in self._missing:
            return known
        self._distance += 1
        rollout = self._catalogue.segment(segment_id)
        if rollout is None:
            self._missing[segment_id] = "its rollout is not in the store"
            return None
        try:
            meta = read_meta(rollout.path)
        except StoreUnreadable as error:
            self._missing[segment_id] = str(error)
            return None
        number = max(FIRST_OWN - self._distance, 0)
        thread = (meta.thread if meta else "") or rollout.thread
        found = Segment(segment_id, thread, rollout.path, meta, number, own=False)
        self._ancestors[segment_id] = found
        return found

    def _base(self, segment: Segment) -> Base | None:
        if segment.id not in self._bases:
            self._bases[segment.id] = self._find_base(segment)
        return self._bases[segment.id]

    def _find_base(self, segment: Segment) -> Base | None:
        meta = segment.meta
        if meta is None or meta.subagent:
            return None
        if meta.base is not None or meta.forked_from is None or not meta.copied:
            return meta.base
        parents = self._catalogue.thread(meta.forked_from)
        if not parents:
            return None  # the copy is all there is of that history: it is imported as it stands
        copy = self._copies.get(segment.id)
        if copy is None or not copy.settled:
            copy = find_copy(parents[-1].path, segment.path, self._max_line)
            self._copies[segment.id] = copy
        segment.skip = copy.own_from
        return Base(parents[-1].segment, copy.below)


def _segment_id(path: Path) -> str:
    stem = path.name.split(".jsonl", maxsplit=1)[0]
    last = stem.rpartition("_")[2]
    return last[len("rollout-0000-00-00T00-00-00-") :] if last == stem else last


def find_line(segment: Segment, ordinal: int, max_line: int) -> int:
    """Return the first line of a segment whose ordinal is not below the given one.

    The number of lines, when there is none. Reads the file from its start: needed once per rewind.
    """
    count = 0
    with Tail(segment.path, None, max_line=max_line) as tail:
        for line in tail.lines():
            count = line.number + 1
            try:
                envelope = decode(line.data, ENVELOPE)
            except Undecodable:
                continue
            if ordinal_of(envelope, line.number) >= ordinal:
                return line.number
    return count


def ordinal_of(envelope: Envelope, line: int) -> int:
    """Return the record's ordinal; older threads have none, there the line number serves."""
    return line if envelope.ordinal is None else envelope.ordinal


# --- copied history -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Trace:
    """What identifies a record whose time was rewritten: its turn, its call, or its words."""

    line: int
    turn: str | None = None
    call: str | None = None
    words: bytes | None = None


def find_copy(parent: Path, fork: Path, max_line: int) -> Copy:
    """Find where copied history ends in an old fork, and how much of the parent it covers.

    A record is a copy if its turn or its call id is one of the parent's; messages without a turn id
    are copies as long as they equal the parent's messages from the first one on. Raises
    StoreUnreadable.
    """
    turns: dict[str, int] = {}
    calls: dict[str, int] = {}
    words: list[tuple[bytes, int]] = []
    for trace in _traces(parent, max_line):
        if trace.turn:
            turns[trace.turn] = trace.line
        if trace.call:
            calls[trace.call] = trace.line
        if trace.words:
            words.append((trace.words, trace.line))
    below, matched, settled, own_from = 0, 0, False, 0
    for trace in _traces(fork, max_line):
        line: int | None
        if trace.words is not None:
            same = matched < len(words) and words[matched][0] == trace.words
            line = words[matched][1] if same else turns.get(trace.turn or "")
            matched += 1
        elif trace.call is not None:
            line = calls.get(trace.call)
        else:
            line = turns.get(trace.turn or "")
        if line is None:
            own_from, settled = trace.line, True
            break
        below = max(below, line + 1)
        own_from = trace.line + 1
    return Copy(own_from=own_from if settled else LAST_LINE, below=below, settled=settled)


def _traces(path: Path, max_line: int) -> list[_Trace]:
    traces: list[_Trace] = []
    turn: str | None = None
    with Tail(path, None, max_line=max_line) as tail:
        for line in tail.lines():
            try:
                envelope = decode(line.data, ENVELOPE)
                trace = _trace(envelope, line.number, turn)
            except Undecodable:
                continue
            if trace is not None:
                turn = trace.turn if trace.call is None and trace.words is None else turn
                traces.append(trace)
    return traces


def _trace(envelope: Envelope, line: int, turn: str | None) -> _Trace | None:
    if envelope.type == "response_item":
        call = decode(envelope.payload, RESPONSE).call_id
        return _Trace(line, turn, call=call) if call else None
    if envelope.type != "event_msg":
        return None
    head = decode(envelope.payload, EVENT)
    if head.type in {"task_started", "turn_started"}:
        return _Trace(line, head.turn_id)
    if head.type in {"user_message", "agent_message"}:
        text = text_of(decode(envelope.payload, OBJECT).get("message"))
    elif head.type == "item_completed":
        item = object_of(decode(head.item, OBJECT))
        if item.get("type") not in {"UserMessage", "AgentMessage"}:
            return None
        text, turn = content_text(item.get("content")), head.turn_id or turn
    else:
        return None
    key = f"{head.type} {text}".encode("utf-8", "replace")
    return _Trace(line, turn, words=hashlib.sha256(key).digest()[:8])

"""Reading a thread: what is new in its segments and its subagents since a cursor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from importers.base import (
    AgentCheck,
    Batch,
    Event,
    FileFact,
    Item,
    Kind,
    LeftOut,
    Limits,
    Loss,
    Mark,
    NodeIndex,
    SessionFacts,
    Sighting,
    Source,
    StoreUnreadable,
    Turn,
)
from importers.codex import state as cursor
from importers.codex.chain import (
    LAST_LINE,
    Catalogue,
    Chain,
    Segment,
    find_line,
    resolve,
)
from importers.codex.meta import read_meta
from importers.codex.records import ENVELOPE
from importers.codex.state import Child, Progress, State
from importers.codex.tools import SHELL_TOOLS
from importers.codex.translate import Translator
from importers.jsonl import (
    Line,
    Position,
    Tail,
    Undecodable,
    blank,
    broken,
    decode,
    oversized,
)

_INHERITED = (Event, Mark, Sighting, Turn, FileFact, Loss)
"""What a fork takes over from its ancestors; the rest belongs to the ancestor's own session."""


def read(
    source: Source, state: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
) -> Iterator[Batch]:
    """Yield what is new; see `Importer.read`."""
    known = cursor.load(state)
    catalogue = Catalogue(source.home)
    chain = resolve(source, catalogue, known.copies if known else {}, limits.max_line)
    with ExitStack() as stack:
        tails = _open(stack, chain, known, limits)
        if known is not None and not _fits(chain, known, tails):
            nodes.clear()
            known = None
            stack.close()
            tails = _open(stack, chain, None, limits)
        reader = _Reader(chain, known or State(thread=chain.thread), catalogue, limits)
        yield from reader.run(tails, state, closed=closed)


def _open(stack: ExitStack, chain: Chain, known: State | None, limits: Limits) -> dict[str, Tail]:
    """Open the segments that may have something new. Raises StoreUnreadable for the newest one."""
    tails = {}
    for segment in chain.segments:
        progress = known.segments.get(segment.id) if known else None
        if progress and not segment.own and progress.limit == segment.limit:
            continue
        position = Position.load(progress.position) if progress else None
        try:
            tails[segment.id] = stack.enter_context(
                Tail(segment.path, position, max_line=limits.max_line)
            )
        except StoreUnreadable as error:
            if segment is chain.segments[-1]:
                raise
            chain.missing[segment.id] = str(error)
    return tails


def _fits(chain: Chain, known: State, tails: dict[str, Tail]) -> bool:
    """Return whether the cursor still describes the files: same thread, every position proven."""
    return known.thread == chain.thread and all(
        tails[segment_id].resumed
        for segment_id, progress in known.segments.items()
        if segment_id in tails and progress.position is not None
    )


class _Reader:
    """One read; collects items and cuts them into batches."""

    def __init__(self, chain: Chain, state: State, catalogue: Catalogue, limits: Limits) -> None:
        self._chain = chain
        self._state = state
        self._catalogue = catalogue
        self._limits = limits
        self._items: list[Item] = []
        self._bytes = 0
        self._facts = self._first_facts()

    def run(self, tails: dict[str, Tail], before: str | None, *, closed: bool) -> Iterator[Batch]:
        self._state.copies = self._chain.copies
        self._report_missing()
        for segment in self._chain.segments:
            progress = self._state.segments.setdefault(segment.id, Progress(below=segment.below))
            self._remark(segment, progress)
            if segment.id in tails:
                yield from self._segment(segment, progress, tails[segment.id], closed=closed)
        yield from self._subagents(closed=closed)
        text = cursor.dump(self._state)
        if self._items or text != before:
            yield self._batch(text)

    def _segment(
        self, segment: Segment, progress: Progress, tail: Tail, *, closed: bool
    ) -> Iterator[Batch]:
        if not tail.resumed:
            progress.context = cursor.Context()
        translator = Translator(segment.thread, progress.context)
        try:
            for line in tail.lines():
                if not self._line(segment, translator, line):
                    progress.limit = segment.limit
                    break
                if self._full(translator.items):
                    self._collect(segment, translator)
                    progress.position = tail.position.dump()
                    yield self._batch(cursor.dump(self._state))
            else:
                progress.position = tail.position.dump()
        except StoreUnreadable as error:
            progress.position = tail.position.dump()
            name = segment.path.name
            self._lose(f"{name}@{tail.offset}", "unreadable", str(error), segment.first_record)
        if closed and segment.own:
            translator.close()
        self._collect(segment, translator)

    def _line(self, segment: Segment, translator: Translator, line: Line) -> bool:
        """Translate one line; False when the inherited part of an ancestor ends before it."""
        number, _, length, data = line
        self._bytes += length + 1
        record = segment.first_record + number
        try:
            envelope = decode(data, ENVELOPE)
            ordinal = number if envelope.ordinal is None else envelope.ordinal
            if segment.limit is not None and ordinal >= segment.limit:
                return False
            if ordinal >= segment.skip or number == 0:
                active = segment.below is None or ordinal < segment.below
                translator.feed(envelope, data, record, active=active)
        except Undecodable as error:
            name = segment.path.name
            if length > self._limits.max_line:
                limit = self._limits.max_line
                translator.items.append(oversized(name, line, limit, record=record))
            elif not blank(data):
                translator.items.append(broken(name, line, error, record=record))
        return True

    def _collect(self, segment: Segment, translator: Translator) -> None:
        for item in translator.drain():
            if segment.own or isinstance(item, _INHERITED):
                self._items.append(item)
        if segment.own:
            for child in sorted(translator.children):
                self._state.children.setdefault(child, Child())
            self._facts = self._later_facts(segment, translator)

    def _full(self, items: list[Item]) -> bool:
        return (
            len(items) + len(self._items) >= self._limits.batch_items
            or self._bytes >= self._limits.batch_bytes
        )

    def _batch(self, text: str) -> Batch:
        items, self._items = tuple(self._items), []
        read, self._bytes = self._bytes, 0
        return Batch(items=items, state=text, facts=self._facts, read_bytes=read)

    # --- branches and gaps -----------------------------------------------------------------------

    def _remark(self, segment: Segment, progress: Progress) -> None:
        """Tell which records changed sides because the thread was rewound since the last read."""
        old, new = progress.below, segment.below
        progress.below = new
        if old == new or (progress.position is None and progress.limit is None):
            return
        first = segment.first_record
        last = first + LAST_LINE
        if old is None or (new is not None and new < old):
            begin = find_line(segment, new or 0, self._limits.max_line)
            self._items.append(Mark(first=first + begin, last=last, active=False))
            return
        begin = find_line(segment, old, self._limits.max_line)
        if new is not None:
            last = first + find_line(segment, new, self._limits.max_line) - 1
        self._items.append(Mark(first=first + begin, last=last, active=True))

    def _report_missing(self) -> None:
        for segment_id, reason in self._chain.missing.items():
            if segment_id not in self._state.told:
                self._state.told.append(segment_id)
                self._lose(f"{segment_id}@0", "missing_parent", reason, 0)

    def _lose(self, position: str, reason: str, detail: str, record: int) -> None:
        self._items.append(Loss(position=position, reason=reason, detail=detail, record=record))

    # --- facts -----------------------------------------------------------------------------------

    def _first_facts(self) -> SessionFacts:
        metas = [segment.meta for segment in self._chain.own if segment.meta]
        if not metas:
            return SessionFacts(native_id=self._chain.thread)
        newest = metas[-1]
        facts = metas[0].facts()._replace(version=newest.version, provider=newest.provider)
        progress = self._state.segments.get(self._chain.own[-1].id)
        context = progress.context if progress else None
        if context is None:
            return facts
        return facts._replace(
            cwd=context.cwd or facts.cwd, model=context.model, last_at=context.last_at
        )

    def _later_facts(self, segment: Segment, translator: Translator) -> SessionFacts:
        context, facts = translator.context, self._facts
        meta_cwd = segment.meta.cwd if segment.meta else None
        return facts._replace(
            cwd=context.cwd or meta_cwd or facts.cwd,
            model=context.model or facts.model,
            last_at=context.last_at or facts.last_at,
        )

    # --- subagents -------------------------------------------------------------------------------

    def _subagents(self, *, closed: bool) -> Iterator[Batch]:
        """Take facts from the subagents' threads, not their messages."""
        seen: set[str] = set()
        while new := sorted(set(self._state.children) - seen):
            for thread in new:
                seen.add(thread)
                for rollout in self._catalogue.thread(thread)[-1:]:
                    child = self._state.children[thread]
                    try:
                        yield from self._child(thread, child, rollout.path, closed=closed)
                    except StoreUnreadable as error:
                        if thread not in self._state.told:
                            self._state.told.append(thread)
                            self._lose(f"{thread}@0", "unreadable", str(error), 0)

    def _child(self, thread: str, child: Child, path: Path, *, closed: bool) -> Iterator[Batch]:
        meta = read_meta(path)
        skip = (meta.own_from_ordinal if meta else None) or 0
        segment = Segment(thread, thread, path, meta, 0, own=True, below=None, skip=skip)
        position = Position.load(child.position)
        with Tail(path, position, max_line=self._limits.max_line) as tail:
            if not tail.resumed:
                child.context = cursor.Context()
            translator = Translator(thread, child.context, agent=thread)
            for line in tail.lines():
                self._line(segment, translator, line)
                if self._full(translator.items):
                    self._collect_child(thread, translator)
                    child.position = tail.position.dump()
                    yield self._batch(cursor.dump(self._state))
            if closed:
                translator.close()
            self._collect_child(thread, translator)
            child.position = tail.position.dump()

    def _collect_child(self, thread: str, translator: Translator) -> None:
        commands: dict[str, str] = {}
        left = 0
        for item in translator.drain():
            if isinstance(item, FileFact | Loss):
                self._items.append(item)
            elif isinstance(item, Event):
                left += item.kind in {Kind.USER_MESSAGE, Kind.ASSISTANT_MESSAGE}
                self._check(thread, item, commands)
        if left:
            self._items.append(LeftOut(kind="subagent", number=left))
        for child in sorted(translator.children):
            self._state.children.setdefault(child, Child())

    def _check(self, thread: str, event: Event, commands: dict[str, str]) -> None:
        if event.tool not in SHELL_TOOLS or event.call_id is None:
            return
        if event.kind == Kind.TOOL_CALL:
            commands[event.call_id] = event.text
        else:
            self._items.append(
                AgentCheck(
                    agent=thread,
                    call_id=event.call_id,
                    command=commands.get(event.call_id, ""),
                    exit_code=event.exit_code,
                    at=event.at,
                )
            )

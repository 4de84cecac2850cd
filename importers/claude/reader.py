"""From lines of a transcript to items, one bounded batch at a time.

A batch goes through three steps: decode its lines, put its records into the tree (order and live
branch), then let each record speak in conversation order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from importers import jsonl
from importers.base import Batch, Item, LeftOut, Limits, Loss, NodeIndex, Source, StoreUnreadable
from importers.claude import agents
from importers.claude.collected import Record
from importers.claude.records import (
    EMPTY,
    ENVELOPE,
    FORKED,
    MESSAGE,
    REQUEST,
    Envelope,
    Message,
    decode_or,
)
from importers.claude.speech import Speech
from importers.claude.state import RECENT_MESSAGES, VERSION, AgentState, State, load
from importers.times import milliseconds
from importers.tree import Tree, Twig

TREE_TYPES: Final = frozenset({"user", "assistant", "attachment", "system", "progress"})
BOOKKEEPING: Final = frozenset(
    {
        "custom-title", "ai-title", "last-prompt", "mode", "permission-mode", "agent-name",
        "agent-color", "agent-setting", "tag", "relocated", "worktree-state", "queue-operation",
        "file-history-snapshot", "attribution-snapshot", "content-replacement", "fork-context-ref",
        "summary", "pr-link", "frame-link", "bridge-session", "ended-by-model",
        "speculation-accept", "isolation-latch", "marble-origami-commit",
        "marble-origami-snapshot", "marble-origami-reset", "progress",
        "api-request", "api-request-shape", "api-request-blob", "atis-latch", "cost-state",
        "tools-used",
    }
)  # fmt: skip
"""Record types of Claude Code 2.1.197 and 2.1.332 that carry nothing a person sees."""
NO_LEAF: Final = "00000000-0000-0000-0000-000000000000"
"""`leafUuid` of a `last-prompt` after a rewind: none chosen, the newest record is the leaf."""
SALVAGE: Final = (b'{"parentUuid":', b'{"type":')
"""How a record begins that was appended right behind a torn one."""


@dataclass(slots=True)
class _Batch:
    """Lines of one batch, decoded."""

    records: list[Record] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)

    def leave(self, kind: str) -> None:
        self.left_out[kind] = self.left_out.get(kind, 0) + 1


def read(
    source: Source, text: str | None, nodes: NodeIndex, limits: Limits, *, closed: bool
) -> Iterator[Batch]:
    """Yield the batches of a session; see `importers.base.Importer.read`."""
    path = source.path
    if path is None:
        raise StoreUnreadable(f"session {source.native_id}: {source.detail or 'not found'}")
    state = load(text)
    if state is not None and state.tree.tip is not None and nodes.get(state.tree.tip) is None:
        state = None  # the stored tree is gone: only a re-scan can tell the order
    position = None if state is None else jsonl.Position.load(state.position)
    with jsonl.Tail(path, position, max_line=limits.max_line) as tail:
        if state is None or not tail.resumed:
            nodes.clear()
            state = State(version=VERSION)
        reading = Reading(source.native_id, path, state, nodes, limits)
        yielded = False
        for batch in reading.main(tail):
            yielded = True
            text = batch.state
            yield batch
        for batch in reading.rest(closed=closed):
            if batch.items or batch.state != text or not yielded:
                yielded = True
                text = batch.state
                yield batch


class Reading:
    """One read of one session."""

    def __init__(
        self, native_id: str, path: Path, state: State, nodes: NodeIndex, limits: Limits
    ) -> None:
        self._native_id = native_id
        self._name = path.name
        self._side = path.with_suffix("")
        self._state = state
        self._limits = limits
        self._nodes = nodes
        self._tree = Tree(nodes, state.tree)
        self._messages = {uuid: spoken.id for spoken in state.messages for uuid in spoken.uuids}

    def main(self, tail: jsonl.Tail) -> Iterator[Batch]:
        """Yield the batches of the main file."""
        batch, begin = _Batch(), tail.offset
        count, end = 0, begin + self._limits.batch_bytes
        for line in tail.lines():
            self._take(line, batch)
            count += 1
            if line.offset + line.length >= end or count >= self._limits.batch_items:
                yield self._finish(batch, tail, begin)
                batch, begin, count = _Batch(), tail.offset, 0
                end = begin + self._limits.batch_bytes
        if count or self._state.position is None:
            yield self._finish(batch, tail, begin)

    def rest(self, *, closed: bool) -> Iterator[Batch]:
        """Yield what the subagents did, and what ended without a word if the session is closed."""
        for path in agents.transcripts(self._side):
            try:
                for step in agents.sweep(path, self._state.agents, self._limits):
                    items = list(step.items)
                    if step.records:
                        items.append(LeftOut(kind="subagent", number=step.records))
                    yield self._batch(items, step.read_bytes)
            except StoreUnreadable as error:
                name = f"{agents.FOLDER}/{path.name}"
                yield self._batch([Loss(position=name, reason="unreadable", detail=str(error))], 0)
        if closed:
            self._tree.give_up()
        items = self._missing_parents()
        if closed:
            items += Speech(self._state, self._side).close(self._nodes)
        yield self._batch(items, 0)

    def _batch(self, items: list[Item], read_bytes: int) -> Batch:
        return Batch(
            items=tuple(items),
            state=self._state.dump(),
            facts=self._state.facts.of(self._native_id),
            read_bytes=read_bytes,
        )

    def _missing_parents(self) -> list[Item]:
        lost, self._tree.lost = self._tree.lost, []
        return [
            Loss(
                position=f"{self._name}@{orphan.offset}",
                reason="missing_parent",
                detail=f"the record before it ({orphan.wanted}) is not in the file",
                record=orphan.record,
            )
            for orphan in lost
        ]

    # --- lines

    def _take(self, line: jsonl.Line, batch: _Batch) -> None:
        if line.length > self._limits.max_line:
            batch.items.append(
                jsonl.oversized(self._name, line, self._limits.max_line, record=line.number)
            )
            return
        if jsonl.blank(line.data):
            return
        if line.data.startswith(REQUEST):
            batch.leave("bookkeeping")
            return
        try:
            envelope = jsonl.decode(line.data, ENVELOPE)
        except jsonl.Undecodable as error:
            self._broken(line, error, batch)
            return
        self._sort(envelope, line, batch)

    def _broken(self, line: jsonl.Line, error: jsonl.Undecodable, batch: _Batch) -> None:
        """Report a line that cannot be read; a record behind a torn one in it is still taken."""
        loss = jsonl.broken(self._name, line, error, record=line.number)
        for start in _starts(line.data):
            try:
                envelope = jsonl.decode(line.data[start:], ENVELOPE)
            except jsonl.Undecodable:
                continue
            if _is_record(envelope):
                batch.items.append(
                    Loss(
                        position=loss.position,
                        reason="torn_line",
                        detail="a torn record stands before a whole one",
                        length=start,
                        record=line.number,
                    )
                )
                self._sort(envelope, line, batch)
                return
        batch.items.append(loss)

    def _sort(self, envelope: Envelope, line: jsonl.Line, batch: _Batch) -> None:
        """Note what a side record says; keep a tree record for the tree."""
        at = self._note(envelope)
        kind = envelope.type
        if kind not in TREE_TYPES and envelope.uuid is None:
            batch.leave("bookkeeping" if kind in BOOKKEEPING else f"unknown:{kind[:60]}")
            return
        message = self._message(envelope, line, batch)
        if envelope.is_sidechain:
            self._sidechain(envelope, message, batch)
            return
        uuid = envelope.uuid
        if uuid is None:
            uuid = f"file:{self._native_id}:{self._state.unnamed}"
            self._state.unnamed += 1
        batch.records.append(
            Record(
                envelope=envelope,
                message=message,
                twig=self._twig(envelope, message, uuid, line),
                at=at or self._state.facts.last_at or 0,
            )
        )

    def _message(self, envelope: Envelope, line: jsonl.Line, batch: _Batch) -> Message | None:
        if envelope.type not in ("user", "assistant") or envelope.message is EMPTY:
            return None
        try:
            return jsonl.decode(envelope.message, MESSAGE)
        except jsonl.Undecodable as error:
            batch.items.append(
                jsonl.loss(self._name, line, "undecodable", str(error), record=line.number)
            )
            return None

    def _twig(
        self, envelope: Envelope, message: Message | None, uuid: str, line: jsonl.Line
    ) -> Twig:
        parent = envelope.parent_uuid
        soft = False
        wanted: str | None
        if isinstance(parent, str):
            wanted = parent
        elif envelope.logical_parent_uuid is not None:
            wanted, soft = envelope.logical_parent_uuid, True
        elif parent is None and envelope.type in ("user", "attachment"):
            wanted = None
        else:  # no field at all, or an answer without a question: it follows the line before
            wanted, soft = "", True
        return Twig(
            uuid,
            wanted,
            line.number,
            line.offset,
            attached=self._hangs_on(envelope, message, uuid),
            soft=soft,
        )

    def _hangs_on(self, envelope: Envelope, message: Message | None, uuid: str) -> bool:
        """Return whether a record is a result, or a further line of its parent's message."""
        if message is None:
            return False
        if envelope.type == "user":
            return not isinstance(message.content, str) and any(
                block.type == "tool_result" for block in message.content or ()
            )
        if message.id is None:
            return False
        self._messages[uuid] = message.id
        if len(self._messages) > 4 * RECENT_MESSAGES * RECENT_MESSAGES:
            for old in list(self._messages)[: len(self._messages) // 2]:
                del self._messages[old]
        parent = envelope.parent_uuid
        return isinstance(parent, str) and self._messages.get(parent) == message.id

    def _sidechain(self, envelope: Envelope, message: Message | None, batch: _Batch) -> None:
        batch.leave("subagent")
        if message is None:
            return
        agent = envelope.agent_id or agents.IN_FILE
        state = self._state.agents.setdefault("/" + agent, AgentState([], {}))
        batch.items += agents.facts(envelope, message, agent, state.calls)

    # --- facts

    def _note(self, envelope: Envelope) -> int | None:
        """Take over what a record says about the session; returns its time."""
        facts = self._state.facts
        facts.note(envelope.cwd, envelope.relocated_cwd, envelope.version)
        if envelope.uuid is None or envelope.type not in TREE_TYPES:
            if envelope.type == "last-prompt":
                self._anchor(envelope.leaf_uuid)
            facts.named = envelope.custom_title or facts.named
            facts.titled = envelope.ai_title or envelope.summary or facts.titled
            return None
        if facts.first_cwd is None:
            facts.first_cwd = envelope.cwd
        if facts.one_shot is None and envelope.entrypoint is not None:
            facts.one_shot = envelope.entrypoint != "cli"
        if facts.parent is None and envelope.forked_from is not EMPTY:
            origin = decode_or(envelope.forked_from, FORKED, None)
            if origin is not None and origin.session_id != self._native_id:
                facts.parent = origin.session_id
        at = milliseconds(envelope.timestamp)
        facts.time(at)
        return at

    def _anchor(self, leaf: str | None) -> None:
        """Take over which record the next resume goes on from; a record may name none."""
        if leaf:
            self._state.tree.anchor = None if leaf == NO_LEAF else leaf

    # --- batches

    def _finish(self, batch: _Batch, tail: jsonl.Tail, begin: int) -> Batch:
        fresh: dict[str, Record] = {}
        for record in batch.records:
            uuid = record.twig.uuid
            if uuid in fresh or self._tree.known(uuid):
                batch.leave("bookkeeping")  # the same record once more, in a rewritten part
            else:
                fresh[uuid] = record
        order, marks = self._tree.grow([record.twig for record in fresh.values()])
        items: list[Item] = [*marks, *self._missing_parents(), *batch.items]
        speech = Speech(self._state, self._side, batch.left_out)
        for twig in order:
            speech.hear(fresh[twig.uuid])
        items += speech.items()
        items += [LeftOut(kind=kind, number=count) for kind, count in batch.left_out.items()]
        self._state.position = tail.position.dump()
        return self._batch(items, tail.offset - begin)


def _is_record(envelope: Envelope) -> bool:
    if envelope.type in TREE_TYPES:
        return envelope.uuid is not None
    return envelope.type in BOOKKEEPING


def _starts(data: bytes) -> list[int]:
    """Return where a whole record may begin inside a broken line, last first, a few of them."""
    found: list[int] = []
    for sign in SALVAGE:
        at = data.rfind(sign)
        while at > 0 and len(found) < 8:
            found.append(at)
            at = data.rfind(sign, 0, at)
    return sorted(set(found))

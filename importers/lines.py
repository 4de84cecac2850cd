"""Reading a session that is one file of JSON lines: batches, cursor, re-scan, tree order.

A reader derives from `LineReader`, or from `TreeReader` where every record names its parent, and
says what a line means. What these classes hold: memory and batches are bounded; a complete line
that cannot be read is a `Loss` and costs nothing else; an unterminated one waits; a cursor that
does not fit the file leads to a re-scan; nothing is yielded twice because of any of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeVar

import msgspec

from importers import jsonl
from importers.base import Batch, Item, Limits, Loss, NodeIndex, Source, StoreUnreadable
from importers.calls import Tools
from importers.session_facts import Facts
from importers.telling import Teller, Told
from importers.tree import Tree, TreeState, Twig

_ANY: Final[msgspec.json.Decoder[Any]] = msgspec.json.Decoder()


class LineState(msgspec.Struct, omit_defaults=True):
    """Everything that a read leaves behind for the next one; derive from it for more."""

    version: int = 0
    position: list[int | str] | None = None
    facts: Facts = msgspec.field(default_factory=Facts)
    told: Told = msgspec.field(default_factory=Told)


class TreeLineState(LineState, omit_defaults=True):
    """The same for a tree."""

    tree: TreeState = msgspec.field(default_factory=TreeState)


S = TypeVar("S", bound=LineState)
T = TypeVar("T", bound=TreeLineState)


class LineReader(Generic[S]):
    """One read of one session.

    `record` is called for every line that is a JSON object, in order; it may tell at once, or keep
    things for `settle`, which is called before a batch ends. `close` is called once at the end when
    no process writes the session any more.
    """

    version: ClassVar[int]
    """Of the cursor; another one leads to a re-scan."""
    state_type: type[S]
    tools: ClassVar[Tools] = Tools()

    def __init__(self, source: Source, path: Path, state: S, nodes: NodeIndex) -> None:
        self.source = source
        self.path = path
        self.state = state
        self.nodes = nodes
        self.tell = Teller(state.told, self.tools)

    def record(self, value: dict[str, Any], line: jsonl.Line) -> None:
        """Take in one record."""
        raise NotImplementedError

    def settle(self) -> None:
        """Tell what waited for the end of the batch."""

    def close(self) -> None:
        """Tell what is interrupted."""
        self.tell.close(self.nodes)

    def skip(self, data: bytes) -> bool:
        """Return whether a line is left out before it is decoded; count it with `leave`."""
        del data
        return False

    # --- the driver

    def take(self, line: jsonl.Line, limits: Limits) -> None:
        """Decode a line and take it in, or say why not."""
        name = self.path.name
        if line.length > limits.max_line:
            self.tell.add(jsonl.oversized(name, line, limits.max_line, record=line.number))
            return
        if jsonl.blank(line.data) or self.skip(line.data):
            return
        try:
            value = jsonl.decode(line.data, _ANY)
        except jsonl.Undecodable as error:
            self.tell.add(jsonl.broken(name, line, error, record=line.number))
            return
        if not isinstance(value, dict):
            self.tell.add(
                jsonl.loss(name, line, "undecodable", "not an object", record=line.number)
            )
            return
        self.record(value, line)

    def batch(self, items: list[Item], read_bytes: int) -> Batch:
        """Return a batch with the state as it is now."""
        return Batch(
            items=tuple(items),
            state=msgspec.json.encode(self.state).decode(),
            facts=self.state.facts.of(self.source.native_id),
            read_bytes=read_bytes,
        )


def read(
    kind: type[LineReader[S]],
    source: Source,
    text: str | None,
    nodes: NodeIndex,
    limits: Limits,
    *,
    closed: bool,
) -> Iterator[Batch]:
    """Yield the batches of a session; see `importers.base.Importer.read`."""
    path = source.path
    if path is None:
        raise StoreUnreadable(f"session {source.native_id}: {source.detail or 'not found'}")
    state = load(kind, text, nodes)
    position = None if state is None else jsonl.Position.load(state.position)
    with jsonl.Tail(path, position, max_line=limits.max_line) as tail:
        if state is None or not tail.resumed:
            nodes.clear()
            state = kind.state_type(version=kind.version)
        reader = kind(source, path, state, nodes)
        yielded = None
        for read_bytes in _batches(reader, tail, limits):
            batch = reader.batch(reader.tell.take(), read_bytes)
            yielded = batch.state
            yield batch
        if closed:
            reader.close()
        batch = reader.batch(reader.tell.take(), 0)
        if batch.items or batch.state != (yielded or text):
            yield batch


def _batches(reader: LineReader[S], tail: jsonl.Tail, limits: Limits) -> Iterator[int]:
    """Take in line after line; yield the bytes read whenever a batch is full, and at the end."""
    begin, count = tail.offset, 0
    for line in tail.lines():
        reader.take(line, limits)
        count += 1
        if line.offset + line.length >= begin + limits.batch_bytes or count >= limits.batch_items:
            yield _settled(reader, tail, begin)
            begin, count = tail.offset, 0
    if count or reader.state.position is None:
        yield _settled(reader, tail, begin)


def _settled(reader: LineReader[S], tail: jsonl.Tail, begin: int) -> int:
    reader.settle()
    reader.state.position = list(tail.position.dump())
    return tail.offset - begin


def load(kind: type[LineReader[S]], text: str | None, nodes: NodeIndex) -> S | None:
    """Return a stored cursor, None if there is none that this reader understands."""
    if text is None:
        return None
    try:
        state = msgspec.json.decode(text, type=kind.state_type)
    except msgspec.DecodeError:
        return None
    if state.version != kind.version or jsonl.Position.load(state.position) is None:
        return None
    if isinstance(state, TreeLineState):
        tip = state.tree.tip
        if tip is not None and nodes.get(tip) is None:
            return None  # the stored tree is gone: only a re-scan can tell the order
    return state


class Branch(NamedTuple):
    """A record of a tree, on its way into it."""

    value: dict[str, Any]
    twig: Twig


class TreeReader(LineReader[T]):
    """A reader of records that name their parents.

    `record` calls `grow` for what belongs to the tree; `speak` is called for each of these, once,
    in conversation order, when it is known whether it is on the live branch.
    """

    def __init__(self, source: Source, path: Path, state: T, nodes: NodeIndex) -> None:
        super().__init__(source, path, state, nodes)
        self.tree = Tree(nodes, state.tree)
        self._fresh: dict[str, Branch] = {}

    def speak(self, branch: Branch) -> None:
        """Tell what a record says; its `twig` has depth and state."""
        raise NotImplementedError

    def grow(
        self,
        value: dict[str, Any],
        line: jsonl.Line,
        name: str,
        parent: str | None,
        *,
        attached: bool = False,
        soft: bool = False,
    ) -> None:
        """Put a record into the tree; one that is there already is left out.

        `attached`: it shares its parent's branch; `soft`: nobody waits for its parent.
        """
        if name in self._fresh or self.tree.known(name):
            self.tell.leave("bookkeeping")
            return
        twig = Twig(name, parent, line.number, line.offset, attached=attached, soft=soft)
        self._fresh[name] = Branch(value, twig)

    def settle(self) -> None:
        """Order the records of the batch, mark what left the live branch, and let them speak."""
        order, marks = self.tree.grow([branch.twig for branch in self._fresh.values()])
        self.tell.add(*marks, *self._lost())
        for twig in order:
            self.speak(self._fresh[twig.uuid])
        self._fresh = {}

    def close(self) -> None:
        """Tell what is interrupted, and which records never found their parent."""
        self.tree.give_up()
        self.tell.add(*self._lost())
        super().close()

    def _lost(self) -> list[Loss]:
        lost, self.tree.lost = self.tree.lost, []
        return [
            Loss(
                position=f"{self.path.name}@{orphan.offset}",
                reason="missing_parent",
                detail=f"the record before it ({orphan.wanted}) is not in the file",
                record=orphan.record,
            )
            for orphan in lost
        ]

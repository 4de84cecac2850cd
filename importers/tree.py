"""Conversation order and live branch of a transcript, at a cost of the new records alone.

For stores in which every record names its parent. Lines come roughly in order; the truth is the
tree (an answer may be flushed before the prompt that it answers). Three things are derived per
batch:

- **Order.** Parents before children, else file order. A record's `depth` is a rank that grows along
  every chain and from one branch to a later one; parallel results share the rank after their call.
  A parent that comes only in a later batch takes a free rank below its child (`GAP` of them are
  kept free); beyond that, file order stands.
- **Live branch.** Ancestors of the newest descendant of the *anchor*, where the harness notes which
  record it resumes from; without one, of the newest record. *Attached* records share the state of
  their parent: results of a call, further lines of one message, records whose parent is unknown.
- **Transitions.** When the live branch moves, only records that change are marked.

Attached records are stored under the parent `+<uuid>`, so that the alternatives at a point and what
merely hangs on it are told apart without reading either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from importers.base import Mark, Node, NodeIndex

GAP = 64
PENDING = 64
"""Most records that wait for their parent; beyond it the oldest counts as lost."""


class Orphan(msgspec.Struct, array_like=True):
    """A record whose parent has not been seen yet."""

    uuid: str
    wanted: str
    depth: int
    record: int
    offset: int
    attached: bool


class TreeState(msgspec.Struct, omit_defaults=True):
    """What is kept of the tree between reads, beside the nodes."""

    anchor: str | None = None
    """Record that the harness would resume from, where it says so."""
    settled: str | None = None
    """Anchor that the tip was computed for."""
    tip: str | None = None
    """Leaf of the live branch."""
    rank: int = -1
    last: str | None = None
    """Last tree record in file order."""
    orphans: list[Orphan] = []


class Twig:
    """A new tree record on its way into the tree."""

    __slots__ = (
        "active",
        "attached",
        "child",
        "depth",
        "offset",
        "parent",
        "record",
        "soft",
        "uuid",
        "wanted",
    )

    def __init__(
        self,
        uuid: str,
        wanted: str | None,
        record: int,
        offset: int,
        *,
        attached: bool = False,
        soft: bool = False,
    ) -> None:
        self.uuid = uuid
        self.wanted = wanted
        """Parent as recorded; None for a root."""
        self.record = record
        self.offset = offset
        """Byte offset of its line."""
        self.attached = attached
        self.soft = soft
        """Its parent may rightly be in another file, so that nobody waits for it."""
        self.parent: str | None = None
        """Parent in the tree: `wanted`, or the record before it in the file."""
        self.child: str | None = None
        """Stored record that has waited for this one: it tells whether the branch is live."""
        self.depth = -1
        self.active = True

    def node(self) -> Node:
        """Return the record as it is stored."""
        hangs = self.attached and self.parent is not None
        parent = f"+{self.parent}" if hangs else self.parent
        return Node(self.uuid, parent, self.depth, self.record, self.active)


class Tree:
    """The tree of one session during one read."""

    def __init__(self, nodes: NodeIndex, state: TreeState) -> None:
        self._nodes = nodes
        self.state = state
        self.lost: list[Orphan] = []
        """Orphans whose parent will not be waited for any longer; the caller takes them."""

    def known(self, uuid: str) -> bool:
        """Return whether a record was stored by an earlier batch."""
        return self._nodes.get(uuid) is not None

    def grow(self, twigs: list[Twig]) -> tuple[list[Twig], list[Mark]]:
        """Add one batch of new records, given in file order, each once.

        Returns them in conversation order with depth and state set, and the marks for records of
        earlier batches. The nodes are written.
        """
        fresh = {twig.uuid: twig for twig in twigs}
        self._adopt(fresh)
        placed: dict[str, Twig] = {}
        for twig in twigs:
            if twig.wanted in placed or twig.wanted not in fresh:
                chain: Iterable[Twig] = () if twig.uuid in placed else (twig,)
            else:
                chain = _parents_first(twig, fresh, placed)
            for next_one in chain:
                self._place(next_one, placed)
            self.state.last = twig.uuid
        marks = self._settle(placed)
        put = self._nodes.put
        for twig in placed.values():
            put(twig.node())
        return sorted(placed.values(), key=lambda twig: (twig.depth, twig.record)), marks

    # --- order

    def _place(self, twig: Twig, placed: dict[str, Twig]) -> None:
        state = self.state
        parent = self._depth(twig.wanted, placed)
        if parent is not None or twig.wanted is None:
            twig.parent = twig.wanted
            fixed = twig.depth >= 0
            base = parent if parent is not None and twig.attached else state.rank
            depth = twig.depth if fixed else base + 1
        else:
            depth = state.rank + (1 if twig.soft else GAP)
            if not twig.soft:
                self._wait(twig, depth)
            twig.parent = next(reversed(placed)) if placed else state.last
            twig.attached = True
        twig.depth = depth
        state.rank = max(state.rank, depth)
        placed[twig.uuid] = twig

    def _depth(self, uuid: str | None, placed: dict[str, Twig]) -> int | None:
        if uuid is None:
            return None
        twig = placed.get(uuid)
        if twig is not None:
            return twig.depth
        node = self._nodes.get(uuid)
        return None if node is None else node.depth

    def _wait(self, twig: Twig, depth: int) -> None:
        wanted = twig.wanted or ""
        if all(other.wanted != wanted for other in self.state.orphans):
            self.state.orphans.append(
                Orphan(twig.uuid, wanted, depth, twig.record, twig.offset, twig.attached)
            )
        while len(self.state.orphans) > PENDING:
            self.lost.append(self.state.orphans.pop(0))

    def give_up(self) -> None:
        """Count every record that still waits for its parent as having lost it."""
        self.lost += self.state.orphans
        self.state.orphans = []

    def _adopt(self, fresh: dict[str, Twig]) -> None:
        """Give parents that come late their place below the records that waited for them."""
        for orphan in list(self.state.orphans):
            if orphan.wanted not in fresh:
                continue
            self.state.orphans.remove(orphan)
            node = self._nodes.get(orphan.uuid)
            if node is not None:
                stored = f"+{orphan.wanted}" if orphan.attached else orphan.wanted
                self._nodes.put(Node(node.uuid, stored, node.depth, node.record, node.active))
            twig: Twig | None = fresh[orphan.wanted]
            depth = orphan.depth - 1
            while twig is not None and twig.depth < 0 and depth >= 0:
                twig.depth, twig.child = depth, orphan.uuid
                depth -= 1
                twig = fresh.get(twig.wanted or "")

    # --- live branch

    def _settle(self, placed: dict[str, Twig]) -> list[Mark]:
        state = self.state
        old_tip = state.tip
        state.tip = self._newest(placed)
        path, revived, meeting = self._climb(state.tip, placed)
        dropped = [] if old_tip is None else self._left_behind(old_tip, meeting, placed)
        changes = {node.uuid: (node, True) for node in self._with_attached(revived)}
        changes |= {node.uuid: (node, False) for node in self._with_attached(dropped)}
        for twig in placed.values():
            if twig.child is not None and self._is_live(twig.child, placed, changes):
                joined = self._joined(twig, path, placed)
                changes |= {node.uuid: (node, True) for node in self._with_attached(joined)}
        for twig in placed.values():
            if twig.child is not None:
                twig.active = self._is_live(twig.child, placed, changes)
            elif twig.attached and twig.parent is not None:
                twig.active = self._is_live(twig.parent, placed, changes)
            else:
                twig.active = twig.uuid in path
        for node, active in changes.values():
            self._nodes.put(Node(node.uuid, node.parent, node.depth, node.record, active))
        return [*_marks(changes.values(), active=False), *_marks(changes.values(), active=True)]

    def _joined(self, late: Twig, path: set[str], placed: dict[str, Twig]) -> list[Node]:
        """Return the stored ancestors of a late parent that turn out to be on the live branch.

        They came before the link to it was there, and were taken for another branch.
        """
        found: list[Node] = []
        uuid = late.parent
        while uuid is not None:
            twig = placed.get(uuid)
            if twig is not None:
                path.add(uuid)
                uuid = twig.parent
                continue
            node = self._nodes.get(uuid)
            if node is None or node.active:
                break
            found.append(node)
            uuid = parent_of(node)
        return found

    def _is_live(
        self, uuid: str, placed: dict[str, Twig], changes: dict[str, tuple[Node, bool]]
    ) -> bool:
        twig = placed.get(uuid)
        if twig is not None:
            return twig.active
        if uuid in changes:
            return changes[uuid][1]
        node = self._nodes.get(uuid)
        return node is None or node.active

    def _newest(self, placed: dict[str, Twig]) -> str | None:
        state = self.state
        anchor = state.anchor
        if anchor is not None and self._depth(anchor, placed) is None:
            anchor = None  # not in the file (yet)
        if anchor != state.settled:
            state.settled = anchor
            if anchor is not None:
                return self._newest_below(anchor, placed)
            last = self._depth(state.last, placed)
            withdrawn = state.anchor is None  # and not merely ahead of the record it names
            if withdrawn and last is not None and last > (self._depth(state.tip, placed) or 0):
                state.tip = state.last
        best, rank = state.tip, self._depth(state.tip, placed)
        below = {anchor or "", state.tip or ""}
        for twig in placed.values():
            if anchor is not None and not self._is_below(twig, anchor, below, placed):
                continue
            if rank is None or twig.depth >= rank:
                best, rank = twig.uuid, twig.depth
        return best

    def _is_below(self, twig: Twig, anchor: str, below: set[str], placed: dict[str, Twig]) -> bool:
        """Return whether a new record descends from the anchor; remembers it in `below`."""
        floor = self._depth(anchor, placed) or 0
        uuid = twig.parent
        while uuid is not None and uuid not in below:
            up = placed.get(uuid)
            if up is not None:
                depth, uuid = up.depth, up.parent
            else:
                node = self._nodes.get(uuid)
                if node is None:
                    return False
                depth, uuid = node.depth, parent_of(node)
            if depth < floor:
                return False
        if uuid is None:
            return False
        below.add(twig.uuid)
        return True

    def _newest_below(self, anchor: str, placed: dict[str, Twig]) -> str:
        children: dict[str, list[Twig]] = {}
        for twig in placed.values():
            children.setdefault(twig.parent or "", []).append(twig)
        best, rank = anchor, self._depth(anchor, placed) or 0
        todo = [anchor]
        while todo:
            uuid = todo.pop()
            below = [(twig.uuid, twig.depth) for twig in children.get(uuid, ())]
            if uuid not in placed:
                below += [(node.uuid, node.depth) for node in self._children(uuid)]
            for child, depth in below:
                todo.append(child)
                if depth > rank:
                    best, rank = child, depth
        return best

    def _children(self, uuid: str) -> list[Node]:
        return self._nodes.children(uuid) + self._nodes.children("+" + uuid)

    def _climb(
        self, tip: str | None, placed: dict[str, Twig]
    ) -> tuple[set[str], list[Node], Node | None]:
        """Walk from the tip to the first stored record that is live.

        Returns the new records on the way, the stored ones that come back to life, and that record.
        """
        path: set[str] = set()
        revived: list[Node] = []
        uuid = tip
        while uuid is not None:
            twig = placed.get(uuid)
            if twig is not None:
                path.add(uuid)
                uuid = twig.parent
                continue
            node = self._nodes.get(uuid)
            if node is None or node.active:
                return path, revived, node
            revived.append(node)
            uuid = parent_of(node)
        return path, revived, None

    def _left_behind(
        self, old_tip: str, meeting: Node | None, placed: dict[str, Twig]
    ) -> list[Node]:
        """Return the stored records from the old tip up to where the new branch leaves it."""
        behind: list[Node] = []
        old = self._nodes.get(old_tip)
        other = meeting
        while old is not None and (other is None or old.uuid != other.uuid):
            if other is not None and other.depth > old.depth:
                other = self._up(other, placed)
                continue
            behind.append(old)
            old = self._up(old, placed)
        while behind and is_attached(behind[-1]):
            behind.pop()  # still hangs on a live record
        return behind

    def _up(self, node: Node, placed: dict[str, Twig]) -> Node | None:
        parent = parent_of(node)
        while parent is not None and parent in placed:
            parent = placed[parent].parent
        return None if parent is None else self._nodes.get(parent)

    def _with_attached(self, nodes: Iterable[Node]) -> list[Node]:
        found: dict[str, Node] = {}
        todo = list(nodes)
        while todo:
            node = todo.pop()
            if node.uuid not in found:
                found[node.uuid] = node
                todo += self._nodes.children("+" + node.uuid)
        return list(found.values())


def parent_of(node: Node) -> str | None:
    """Return the uuid of a stored record's parent."""
    return None if node.parent is None else node.parent.removeprefix("+")


def is_attached(node: Node) -> bool:
    """Return whether a stored record shares its parent's state."""
    return node.parent is not None and node.parent.startswith("+")


def _parents_first(twig: Twig, fresh: dict[str, Twig], placed: dict[str, Twig]) -> Iterator[Twig]:
    """Yield the record after those of its ancestors in this batch that are not placed yet."""
    chain: dict[str, Twig] = {}
    step: Twig | None = twig
    while step is not None and step.uuid not in placed and step.uuid not in chain:
        chain[step.uuid] = step
        step = fresh.get(step.wanted or "")
    if step is not None and step.uuid in chain:
        step.wanted = None  # a circle: cut where it closes
    yield from reversed(chain.values())


def _marks(changes: Iterable[tuple[Node, bool]], *, active: bool) -> Iterator[Mark]:
    """Yield marks over runs of neighbouring records, never over a record that does not change."""
    records = sorted(node.record for node, state in changes if state is active)
    first = last = None
    for record in records:
        if last is not None and record == last + 1:
            last = record
            continue
        if first is not None and last is not None:
            yield Mark(first=first, last=last, active=active)
        first = last = record
    if first is not None and last is not None:
        yield Mark(first=first, last=last, active=active)

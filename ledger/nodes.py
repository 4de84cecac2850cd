"""The tree of one native session, kept for readers of tree stores.

What a reader puts is held in memory and written by `flush`, in the transaction that commits the
batch it belongs to. An index whose batch was not committed is thrown away, never flushed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    import sqlite3

    from ledger.store import Store


class NodeLike(Protocol):
    """What is stored of a node."""

    @property
    def uuid(self) -> str:
        """Id of the native record."""

    @property
    def parent(self) -> str | None:
        """Id of the record it follows."""

    @property
    def depth(self) -> int:
        """Distance from the root."""

    @property
    def record(self) -> int:
        """Number of the native record in the session."""

    @property
    def active(self) -> bool:
        """Whether it is on the active chain."""


N = TypeVar("N", bound=NodeLike)

_SELECT = "SELECT uuid, parent, depth, record, active FROM node WHERE session = ?"


class SessionNodes(Generic[N]):
    """Nodes of one session: those in the ledger below, those put since the last flush above."""

    def __init__(
        self,
        store: Store,
        session: int,
        make: Callable[[str, str | None, int, int, bool], N],
    ) -> None:
        """Read and write the nodes of `session` (row id); `make` builds the reader's own node."""
        self._store = store
        self._session = session
        self._make = make
        self._fresh: dict[str, N] = {}
        self._children: dict[str, dict[str, None]] = {}
        self._recent: dict[str, N] = {}
        self.restarted = False
        """The reader started over since the last flush."""

    def get(self, uuid: str) -> N | None:
        """Return the node, or None."""
        node = self._fresh.get(uuid) or self._recent.get(uuid)
        if node is not None or self.restarted:
            return node
        row = self._store.one(_SELECT + " AND uuid = ?", self._session, uuid)
        return None if row is None else self._node(row)

    def children(self, uuid: str) -> list[N]:
        """Return the nodes whose parent is `uuid`, by record."""
        found: dict[str, N] = {}
        if not self.restarted:
            rows = self._store.all(_SELECT + " AND parent = ?", self._session, uuid)
            found = {row["uuid"]: self._node(row) for row in rows if row["uuid"] not in self._fresh}
        for child in self._children.get(uuid, ()):
            node = self._fresh[child]
            if node.parent == uuid:
                found[child] = node
        return sorted(found.values(), key=lambda node: node.record)

    def put(self, node: N) -> None:
        """Add or replace a node."""
        self._fresh[node.uuid] = node
        if node.parent is not None:
            self._children.setdefault(node.parent, {})[node.uuid] = None

    def clear(self) -> None:
        """Forget the tree: the read starts over."""
        self._fresh = {}
        self._children = {}
        self._recent = {}
        self.restarted = True

    @property
    def dirty(self) -> bool:
        """Whether there is anything to flush."""
        return self.restarted or bool(self._fresh)

    def flush(self, db: sqlite3.Connection) -> None:
        """Write what was put; call it inside the transaction of the batch."""
        if self.restarted:
            db.execute("DELETE FROM node WHERE session = ?", (self._session,))
        db.executemany(
            "INSERT OR REPLACE INTO node (session, uuid, parent, depth, record, active)"
            " VALUES (?,?,?,?,?,?)",
            [
                (self._session, node.uuid, node.parent, node.depth, node.record, int(node.active))
                for node in self._fresh.values()
            ],
        )

    def flushed(self) -> None:
        """Say that the transaction of the last `flush` was committed."""
        self._recent, self._fresh = self._fresh, {}
        self._children = {}
        self.restarted = False

    def _node(self, row: sqlite3.Row) -> N:
        return self._make(
            row["uuid"], row["parent"], row["depth"], row["record"], bool(row["active"])
        )

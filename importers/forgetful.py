"""A node index that lives as long as one look: for reading the beginning of a session aside."""

from __future__ import annotations

from importers.base import Node


class ForgetfulNodes:
    """The tree of one session in memory; nothing of it is stored."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}

    def get(self, uuid: str) -> Node | None:
        """Return the node, or None."""
        return self._nodes.get(uuid)

    def children(self, uuid: str) -> list[Node]:
        """Return the nodes whose parent is `uuid`, by record."""
        found = [node for node in self._nodes.values() if node.parent == uuid]
        return sorted(found, key=lambda node: node.record)

    def put(self, node: Node) -> None:
        """Add or replace a node."""
        self._nodes[node.uuid] = node

    def clear(self) -> None:
        """Forget every node."""
        self._nodes.clear()

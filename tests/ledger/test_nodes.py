from __future__ import annotations

from importers.base import Node
from ledger.nodes import SessionNodes
from ledger.store import Store


def nodes(store: Store, session: int = 1) -> SessionNodes[Node]:
    return SessionNodes(store, session, Node)


def commit(store: Store, index: SessionNodes[Node]) -> None:
    with store.transaction() as db:
        index.flush(db)
    index.flushed()


def test_nodes_are_there_before_and_after_they_are_written(store: Store) -> None:
    index = nodes(store)
    root, child = Node("r", None, 0, 0, True), Node("c", "r", 1, 4, False)
    index.put(root)
    index.put(child)
    before = index.dirty
    assert nodes(store).get("r") is None
    commit(store, index)
    assert (before, index.dirty) == (True, False)
    for reader in (index, nodes(store)):
        assert reader.get("c") == child
        assert reader.children("r") == [child]
    assert nodes(store, session=2).get("r") is None


def test_a_new_version_of_a_node_hides_the_stored_one(store: Store) -> None:
    index = nodes(store)
    index.put(Node("r", None, 0, 0, True))
    index.put(Node("a", "r", 1, 1, True))
    index.put(Node("b", "r", 1, 2, True))
    commit(store, index)
    index.put(Node("a", "b", 2, 1, False))
    assert [node.uuid for node in index.children("r")] == ["b"]
    assert index.children("b") == [Node("a", "b", 2, 1, False)]
    commit(store, index)
    assert nodes(store).get("a") == Node("a", "b", 2, 1, False)
    assert [node.uuid for node in nodes(store).children("r")] == ["b"]


def test_children_come_by_record_whenever_they_were_put(store: Store) -> None:
    index = nodes(store)
    index.put(Node("late", "r", 1, 9, True))
    commit(store, index)
    index.put(Node("early", "r", 1, 2, True))
    assert [node.uuid for node in index.children("r")] == ["early", "late"]


def test_clearing_forgets_the_stored_tree_with_the_next_write(store: Store) -> None:
    index = nodes(store)
    index.put(Node("old", None, 0, 0, True))
    commit(store, index)
    index.clear()
    index.put(Node("new", "old", 0, 0, True))
    assert index.get("old") is None
    assert [node.uuid for node in index.children("old")] == ["new"]
    assert nodes(store).get("old") is not None
    commit(store, index)
    assert nodes(store).get("old") is None
    assert nodes(store).get("new") is not None

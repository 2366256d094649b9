"""Changes of a tree of nodes are planned, then applied."""

import pytest

from cordwood.core.errors import MetadataConflictError
from cordwood.core.nodes import CreateNode, DeleteNode, Node, NodeTree, SetNode


def tree(*paths: str) -> NodeTree:
    made = NodeTree()
    made.apply(made.plan([CreateNode(path) for path in paths]))
    return made


def test_plan_changes_nothing() -> None:
    empty = NodeTree()

    assert empty.plan([CreateNode("/a", b"1")]) == {"/a": Node(b"1", 0)}
    assert len(empty) == 0


def test_nodes_come_parents_first() -> None:
    assert [path for path, _ in tree("/a", "/a-b", "/a/c")] == ["/a", "/a-b", "/a/c"]


def test_node_that_was_set_before_its_end_goes_with_those_below() -> None:
    made = tree("/a", "/a/b")

    made.apply(made.plan([SetNode("/a", b""), DeleteNode("/a/b"), DeleteNode("/a")]))

    assert len(made) == 0
    assert made.children("/") == []


def test_node_may_be_deleted_and_made_anew_at_once() -> None:
    made = tree("/a", "/a/b")

    made.apply(made.plan([DeleteNode("/a/b"), CreateNode("/a/b", b"new")]))

    assert made.get("/a/b") == Node(b"new", 0)


def test_conflict_names_the_node() -> None:
    with pytest.raises(MetadataConflictError) as caught:
        tree("/a").plan([CreateNode("/a")])

    assert caught.value.path == "/a"

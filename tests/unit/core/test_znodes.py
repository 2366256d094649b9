"""Changes of a node tree are planned, then applied."""

import pytest

from cordwood.core.errors import MetadataConflictError
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNode, ZNodeTree


def tree(*paths: str) -> ZNodeTree:
    made = ZNodeTree()
    made.apply(made.plan([CreateZNode(path) for path in paths]))
    return made


def test_plan_does_not_change_the_tree() -> None:
    empty = ZNodeTree()

    assert empty.plan([CreateZNode("/a", b"1")]) == {"/a": ZNode(b"1", 0)}
    assert len(empty) == 0


def test_nodes_are_listed_parents_first() -> None:
    assert [path for path, _ in tree("/a", "/a-b", "/a/c")] == ["/a", "/a-b", "/a/c"]


def test_node_that_was_set_in_the_same_call_is_deleted_with_its_children() -> None:
    made = tree("/a", "/a/b")

    made.apply(made.plan([SetZNode("/a", b""), DeleteZNode("/a/b"), DeleteZNode("/a")]))

    assert len(made) == 0
    assert made.children("/") == []


def test_node_may_be_deleted_and_created_in_one_call() -> None:
    made = tree("/a", "/a/b")

    made.apply(made.plan([DeleteZNode("/a/b"), CreateZNode("/a/b", b"new")]))

    assert made.get("/a/b") == ZNode(b"new", 0)


def test_conflict_names_the_node() -> None:
    with pytest.raises(MetadataConflictError) as caught:
        tree("/a").plan([CreateZNode("/a")])

    assert caught.value.path == "/a"

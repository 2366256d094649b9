"""Tests of the nodes of ZooKeeper in memory; the scenes are in `tests/conformance`."""

import pytest

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    CheckOp,
    CreateOp,
    DeleteOp,
    MultiOp,
    SetDataOp,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import BadVersionError
from cordwood.testing.zookeeper.zookeeper_tree import ChangeKind, NodeChange, ZooKeeperTree


def apply(tree: ZooKeeperTree, *operations: MultiOp, session_id: int = 1) -> list[NodeChange]:
    return tree.apply(operations, session_id=session_id, now_ms=5)[1]


def test_rejected_transaction_is_undone_completely() -> None:
    tree = ZooKeeperTree()
    apply(tree, CreateOp("/a", b"1"), CreateOp("/a/x"))
    before = tree.get("/a"), tree.children("/a"), tree.get("/a/x")

    with pytest.raises(BadVersionError):
        apply(
            tree,
            SetDataOp("/a", b"2"),
            DeleteOp("/a/x"),
            CreateOp("/a/x"),
            CreateOp("/a/n_", sequential=True),
            CheckOp("/a", 0),
        )

    assert (tree.get("/a"), tree.children("/a"), tree.get("/a/x")) == before
    apply(tree, CreateOp("/a/n_", sequential=True))
    assert tree.children("/a") == ["n_0000000001", "x"]


def test_changes_name_the_nodes_and_their_parents() -> None:
    tree = ZooKeeperTree()

    changes = apply(tree, CreateOp("/a"), SetDataOp("/a", b""), DeleteOp("/a"))

    assert changes == [
        (ChangeKind.CREATED, "/a"),
        (ChangeKind.CHILDREN, "/"),
        (ChangeKind.DATA, "/a"),
        (ChangeKind.DELETED, "/a"),
        (ChangeKind.CHILDREN, "/"),
    ]


def test_session_owns_its_ephemeral_nodes() -> None:
    tree = ZooKeeperTree()
    apply(tree, CreateOp("/a", ephemeral=True), CreateOp("/b"), session_id=7)
    apply(tree, CreateOp("/c", ephemeral=True), session_id=8)

    assert tree.ephemerals(7) == ["/a"]

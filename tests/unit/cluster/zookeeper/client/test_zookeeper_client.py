"""Tests of the values of the ZooKeeperClient port; its scenes are in `tests/conformance`."""

from cordwood.cluster.zookeeper.client.zookeeper_client import (
    MATCH_ANY_VERSION,
    CreateOp,
    DeleteOp,
    SetDataOp,
)


def test_operations_accept_any_version_by_default() -> None:
    assert SetDataOp("/a", b"").version == DeleteOp("/a").version == MATCH_ANY_VERSION == -1


def test_created_nodes_are_persistent_by_default() -> None:
    assert CreateOp("/a") == ("/a", b"", False, False)

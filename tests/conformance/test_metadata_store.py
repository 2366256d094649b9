"""Conformance tests of the MetadataStore port, for the store in files and the store in memory."""

import pytest

from cordwood.broker.metadata.file_metadata_store import FileMetadataStore
from cordwood.broker.metadata.metadata_copies import CopyPlace
from cordwood.core.errors import MetadataConflictError
from cordwood.core.ports import MetadataStore
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNode
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.memory_metadata import MemoryMetadata


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest) -> MetadataStore:
    if request.param == "memory":
        return MemoryMetadata()
    places = [CopyPlace(MemoryFiles(), "", "a")]
    return FileMetadataStore.create(places, changes=[], on_event=str)


def test_created_node_is_in_the_store(store: MetadataStore) -> None:
    store.multi([CreateZNode("/a", b"\xff data")])

    assert store.get("/a") == ZNode(b"\xff data", 0)


def test_store_has_no_nodes_under_other_paths(store: MetadataStore) -> None:
    assert store.get("/a") is None
    assert store.children("/a") == []


def test_set_raises_the_version(store: MetadataStore) -> None:
    store.multi([CreateZNode("/a", b"1"), SetZNode("/a", b"2")])
    store.multi([SetZNode("/a", b"3", version=1)])

    assert store.get("/a") == ZNode(b"3", 2)


def test_children_are_the_names_directly_below(store: MetadataStore) -> None:
    store.multi(
        [CreateZNode("/a"), CreateZNode("/a/c"), CreateZNode("/a/b"), CreateZNode("/a/b/x")]
    )

    assert store.children("/a") == ["b", "c"]
    assert store.children("/") == ["a"]


def test_deleted_node_is_not_in_the_store(store: MetadataStore) -> None:
    store.multi([CreateZNode("/a"), CreateZNode("/b")])

    store.multi([DeleteZNode("/a", version=0)])

    assert store.get("/a") is None
    assert store.children("/") == ["b"]


def test_multi_sees_its_own_changes(store: MetadataStore) -> None:
    store.multi([CreateZNode("/a"), CreateZNode("/a/b"), DeleteZNode("/a/b"), DeleteZNode("/a")])

    assert store.children("/") == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    (
        ([CreateZNode("/a")], "/a: the node already exists"),
        ([CreateZNode("/x/y")], "/x/y: the parent node does not exist"),
        ([CreateZNode("x")], "x: not a node path"),
        ([SetZNode("/x", b"")], "/x: the node does not exist"),
        ([SetZNode("/a", b"", version=4)], "/a: the node has version 0, not 4"),
        ([DeleteZNode("/x")], "/x: the node does not exist"),
        ([DeleteZNode("/a/b", version=1)], "/a/b: the node has version 0, not 1"),
        ([DeleteZNode("/a")], "/a: the node has children"),
        ([DeleteZNode("/a/b"), CreateZNode("/a/c"), DeleteZNode("/a")], "the node has children"),
    ),
)
def test_multi_applies_no_change_when_one_is_invalid(
    store: MetadataStore,
    changes: list[CreateZNode | SetZNode | DeleteZNode],
    problem: str,
) -> None:
    store.multi([CreateZNode("/a"), CreateZNode("/a/b")])

    with pytest.raises(MetadataConflictError, match=problem):
        store.multi([CreateZNode("/before"), *changes])

    assert store.children("/") == ["a"]
    assert store.get("/a/b") == ZNode(b"")

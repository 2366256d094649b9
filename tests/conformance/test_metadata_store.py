"""The MetadataStore port: what the file and the memory both keep to."""

import pytest

from cordwood.broker.metadata_file import MetadataFile
from cordwood.core.errors import MetadataConflictError
from cordwood.core.nodes import CreateNode, DeleteNode, Node, SetNode
from cordwood.core.ports import MetadataStore
from cordwood.testing.files import MemoryFiles
from cordwood.testing.metadata import MemoryMetadata


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest) -> MetadataStore:
    if request.param == "memory":
        return MemoryMetadata()
    return MetadataFile.create(MemoryFiles(), "/cordwood.metadata", changes=[])


def test_store_has_what_was_created(store: MetadataStore) -> None:
    store.multi([CreateNode("/a", b"\xff data")])

    assert store.get("/a") == Node(b"\xff data", 0)


def test_store_has_nothing_under_other_paths(store: MetadataStore) -> None:
    assert store.get("/a") is None
    assert store.children("/a") == []


def test_set_raises_the_version(store: MetadataStore) -> None:
    store.multi([CreateNode("/a", b"1"), SetNode("/a", b"2")])
    store.multi([SetNode("/a", b"3", version=1)])

    assert store.get("/a") == Node(b"3", 2)


def test_children_are_the_names_right_below(store: MetadataStore) -> None:
    store.multi([CreateNode("/a"), CreateNode("/a/c"), CreateNode("/a/b"), CreateNode("/a/b/x")])

    assert store.children("/a") == ["b", "c"]
    assert store.children("/") == ["a"]


def test_deleted_node_is_gone(store: MetadataStore) -> None:
    store.multi([CreateNode("/a"), CreateNode("/b")])

    store.multi([DeleteNode("/a", version=0)])

    assert store.get("/a") is None
    assert store.children("/") == ["b"]


def test_multi_sees_its_own_changes(store: MetadataStore) -> None:
    store.multi([CreateNode("/a"), CreateNode("/a/b"), DeleteNode("/a/b"), DeleteNode("/a")])

    assert store.children("/") == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    (
        ([CreateNode("/a")], "/a: there is such a node already"),
        ([CreateNode("/x/y")], "/x/y: there is no node above it"),
        ([CreateNode("x")], "x: this is no path of a node"),
        ([SetNode("/x", b"")], "/x: there is no such node"),
        ([SetNode("/a", b"", version=4)], "/a: it has version 0, not 4"),
        ([DeleteNode("/x")], "/x: there is no such node"),
        ([DeleteNode("/a/b", version=1)], "/a/b: it has version 0, not 1"),
        ([DeleteNode("/a")], "/a: there are nodes below it"),
        ([DeleteNode("/a/b"), CreateNode("/a/c"), DeleteNode("/a")], "there are nodes below it"),
    ),
)
def test_multi_changes_nothing_when_one_change_cannot_be(
    store: MetadataStore,
    changes: list[CreateNode | SetNode | DeleteNode],
    problem: str,
) -> None:
    store.multi([CreateNode("/a"), CreateNode("/a/b")])

    with pytest.raises(MetadataConflictError, match=problem):
        store.multi([CreateNode("/before"), *changes])

    assert store.children("/") == ["a"]
    assert store.get("/a/b") == Node(b"")

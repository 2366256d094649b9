"""Metadata in memory; what they share with the file is in the conformance tests."""

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.nodes import CreateNode
from cordwood.testing.metadata import MemoryMetadata


def test_stores_know_nothing_of_each_other() -> None:
    MemoryMetadata().multi([CreateNode("/a")])

    assert MemoryMetadata().get("/a") is None


def test_store_keeps_nothing_while_it_refuses() -> None:
    store = MemoryMetadata()
    store.refuse(KafkaStorageError("no room"))

    with pytest.raises(KafkaStorageError, match="no room"):
        store.multi([CreateNode("/a")])

    assert store.get("/a") is None

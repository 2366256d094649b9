"""The metadata store in memory; the conformance tests cover the contract of its port."""

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.znodes import CreateZNode
from cordwood.testing.memory_metadata import MemoryMetadata


def test_stores_know_nothing_of_each_other() -> None:
    MemoryMetadata().multi([CreateZNode("/a")])

    assert MemoryMetadata().get("/a") is None


def test_store_keeps_nothing_while_it_refuses() -> None:
    store = MemoryMetadata()
    store.refuse(KafkaStorageError("no room"))

    with pytest.raises(KafkaStorageError, match="no room"):
        store.multi([CreateZNode("/a")])

    assert store.get("/a") is None

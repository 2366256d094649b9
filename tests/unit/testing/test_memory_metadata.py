"""The metadata store in memory; the conformance tests cover the contract of its port."""

import pytest

from cordwood.core.errors import KafkaStorageError
from cordwood.core.znodes import CreateZNode
from cordwood.testing.memory_metadata import MemoryMetadata


def test_stores_share_no_nodes() -> None:
    MemoryMetadata().multi([CreateZNode("/a")])

    assert MemoryMetadata().get("/a") is None


def test_store_that_rejects_changes_stores_none() -> None:
    store = MemoryMetadata()
    store.refuse(KafkaStorageError("no room"))

    with pytest.raises(KafkaStorageError, match="no room"):
        store.multi([CreateZNode("/a")])

    assert store.get("/a") is None

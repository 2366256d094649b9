"""Replica counts that are kept from one trigger of a stream to the next."""

import pytest

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source import replica_count_cache
from cordwood.spark.source.replica_count_cache import ReplicaCountCache
from cordwood.storage.metadata.replica_counts import ReplicaCounts
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock

T0, T1 = (TopicPartition(TopicName("t"), PartitionId(each)) for each in range(2))


class Metadata:
    """The metadata of one log directory, whose reads are counted."""

    def __init__(self) -> None:
        self.counts = {T0: 1}
        self.reads = 0

    def read(self, _files: object, _log_directory: str) -> ReplicaCounts:
        self.reads += 1
        counts = dict(self.counts)
        return lambda partition, _topic_id: counts.get(partition)


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Metadata:
    found = Metadata()
    monkeypatch.setattr(replica_count_cache, "read_replica_counts", found.read)
    return found


def test_counts_are_read_again_after_five_seconds(metadata: Metadata) -> None:
    clock = VirtualClock()
    cache = ReplicaCountCache(MemoryFiles(), clock)
    for _ in range(3):
        assert cache.counts_of("/logs")(T0, None) == 1
    assert metadata.reads == 1

    clock.advance(seconds=5)

    assert cache.counts_of("/logs")(T0, None) == 1
    assert metadata.reads == 2


def test_partition_without_a_count_is_looked_up_at_once(metadata: Metadata) -> None:
    cache = ReplicaCountCache(MemoryFiles(), VirtualClock())
    cache.counts_of("/logs")
    metadata.counts[T1] = 3

    assert cache.counts_of("/logs")(T1, None) == 3
    assert metadata.reads == 2


def test_each_log_directory_has_its_own_counts(metadata: Metadata) -> None:
    cache = ReplicaCountCache(MemoryFiles(), VirtualClock())

    cache.counts_of("/a")
    cache.counts_of("/b")

    assert metadata.reads == 2

"""Average bytes of an offset on brokers (Kafka: DescribeLogDirs), asked once a minute.

The size of a partition's largest replica is divided by its offsets. If the brokers reject the
request, for example without the right to it, there is no average, and `byte_sizes` assumes a size.
"""

from collections.abc import Mapping
from typing import Final

from cordwood.client.blocking import Admin
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Clock
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.broker_offsets import Brokers
from cordwood.spark.source.offset_resolution import PartitionExtent

_INTERVAL_MS: Final = 60_000


class AverageSizes:
    """The averages of one cluster; without brokers there are none."""

    def __init__(self, brokers: Brokers | None, clock: Clock) -> None:
        self._brokers = brokers
        self._clock = clock
        self._asked_ms: float | None = None
        self._found: Mapping[TopicPartition, float] = {}

    def of(
        self, extents: Mapping[TopicPartition, PartitionExtent]
    ) -> Mapping[TopicPartition, float]:
        """Return the known averages, asked again after a minute."""
        now_ms = self._clock.monotonic_ms()
        if self._asked_ms is None or now_ms - self._asked_ms >= _INTERVAL_MS:
            self._asked_ms = now_ms
            self._found = averages_of(self._sizes(), extents)
        return self._found

    def _sizes(self) -> Mapping[TopicPartition, int]:
        """Return the size of each partition; none if the brokers reject the request."""
        if self._brokers is None:
            return {}
        try:
            return _sizes_on(self._brokers.admin)
        except CordwoodError:
            return {}


def _sizes_on(admin: Admin) -> dict[TopicPartition, int]:
    """Return the size of the largest replica of each partition."""
    found = dict[TopicPartition, int]()
    brokers = admin.describe_cluster().brokers
    directories = (each for broker in brokers for each in admin.describe_log_dirs(broker.node_id))
    for each in (replica for directory in directories for replica in directory.partitions):
        key = TopicPartition(TopicName(each.topic), PartitionId(each.partition))
        found[key] = max(each.size, found.get(key, 0))
    return found


def averages_of(
    sizes: Mapping[TopicPartition, int], extents: Mapping[TopicPartition, PartitionExtent]
) -> dict[TopicPartition, float]:
    """Return the bytes of an offset of each partition that has some."""
    return {
        partition: sizes[partition] / (extent.end - extent.first)
        for partition, extent in extents.items()
        if sizes.get(partition, 0) and extent.end > extent.first
    }

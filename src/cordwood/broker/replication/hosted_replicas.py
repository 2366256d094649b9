"""The fetchers' port to the local logs, over the hosted partitions.

Kafka: `ReplicaFetcherThread`, by `ReplicaManager` and `Partition`. The role of a partition decides
whether a change is made; see `PartitionFollower`.
"""

from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_follower import view_of
from cordwood.cluster.fetchers.local_replicas import LeaderBounds
from cordwood.cluster.partition.truncation import FollowerLog
from cordwood.core.ports import Pending
from cordwood.core.types import TopicPartition


class HostedReplicas:
    """The logs of hosted partitions that follow."""

    def __init__(self, partitions: HostedPartitions) -> None:
        self._partitions = partitions

    def follower_log(self, partition: TopicPartition) -> FollowerLog:
        return view_of(self._find(partition).log)

    def append(
        self,
        partition: TopicPartition,
        records: memoryview,
        *,
        leader_epoch: int,
        bounds: LeaderBounds,
    ) -> Pending[None] | None:
        return self._find(partition).followed(leader_epoch).append(records, bounds)

    def truncate(
        self, partition: TopicPartition, offset: int, *, leader_epoch: int
    ) -> Pending[None] | None:
        return self._find(partition).followed(leader_epoch).truncate(offset)

    def start_at(
        self, partition: TopicPartition, offset: int, *, leader_epoch: int
    ) -> Pending[None] | None:
        return self._find(partition).followed(leader_epoch).start_at(offset)

    def _find(self, partition: TopicPartition) -> Partition:
        return self._partitions.get(*partition)

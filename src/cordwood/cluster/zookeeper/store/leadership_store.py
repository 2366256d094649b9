"""Leaders and in-sync replicas of partitions (Kafka: `getTopicPartitionStates`,
`updateLeaderAndIsr`).

Partitions are read and written in one pipeline, each write conditional on its partition epoch and
on the controller epoch.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.effects import LeadershipWrites
from cordwood.cluster.zookeeper.client.zookeeper_client import (
    CreateOp,
    MultiOp,
    SetDataOp,
    ZooKeeperClient,
)
from cordwood.cluster.zookeeper.client.zookeeper_errors import (
    BadVersionError,
    NodeExistsError,
    NoNodeError,
    ZooKeeperError,
)
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard, GuardedWrites
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests, turns
from cordwood.cluster.zookeeper.znodes.partition_state_znode import (
    decode_leadership,
    encode_leadership,
)
from cordwood.core.errors import KafkaError, UnknownServerError, UnknownTopicOrPartitionError
from cordwood.core.metadata_paths import partition_path, partition_state_path, partitions_path
from cordwood.core.types import TopicPartition

_CONFLICTS: Final = (BadVersionError, NodeExistsError)


class LeadershipStore:
    """Leaderships of partitions."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._requests = RetriedRequests(client)

    async def read(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Leadership]:
        """Return the stored leaderships; partitions without one are missing."""
        found = dict[TopicPartition, Leadership]()
        for turn in turns(partitions):
            nodes = await self._requests.get_all([_path(each) for each in turn])
            found |= {
                partition: decode_leadership(partition, node.data, version=node.stat.version)
                for partition, node in zip(turn, nodes, strict=True)
                if node is not None
            }
        return found

    async def create(
        self, leaderships: Mapping[TopicPartition, Leadership], guard: ControllerGuard
    ) -> LeadershipWrites:
        """Store the first leaderships of partitions; one that exists is a conflict."""
        writes = GuardedWrites(self._client, guard)
        for parents in (
            dict.fromkeys(partitions_path(each.topic) for each in leaderships),
            dict.fromkeys(partition_path(each.topic, each.partition) for each in leaderships),
        ):
            for result in await writes.apply(CreateOp(path) for path in parents):
                _ensure_expected(result.error)
        operations = (
            CreateOp(_path(partition), encode_leadership(leadership))
            for partition, leadership in leaderships.items()
        )
        return await self._write(leaderships, operations, writes)

    async def write(
        self, leaderships: Mapping[TopicPartition, Leadership], guard: ControllerGuard
    ) -> LeadershipWrites:
        """Replace leaderships, each if its stored partition epoch is the one in the new value.

        The written ones are returned with their next partition epochs. One with another stored
        epoch is a conflict: its leader or an earlier attempt was first, and it is read again.
        """
        operations = (
            SetDataOp(_path(partition), encode_leadership(leadership), leadership.partition_epoch)
            for partition, leadership in leaderships.items()
        )
        return await self._write(leaderships, operations, GuardedWrites(self._client, guard))

    @staticmethod
    async def _write(
        leaderships: Mapping[TopicPartition, Leadership],
        operations: Iterable[MultiOp],
        writes: GuardedWrites,
    ) -> LeadershipWrites:
        written = dict[TopicPartition, Leadership]()
        conflicts = list[TopicPartition]()
        failed = dict[TopicPartition, KafkaError]()
        results = await writes.apply(operations)
        for (partition, leadership), result in zip(leaderships.items(), results, strict=True):
            if result.error is None:
                assert result.version is not None
                written[partition] = leadership._replace(partition_epoch=result.version)
            elif isinstance(result.error, _CONFLICTS):
                conflicts.append(partition)
            else:
                failed[partition] = _kafka_error(partition, result.error)
        return LeadershipWrites(written, conflicts, failed)


def _path(partition: TopicPartition) -> str:
    return partition_state_path(partition.topic, partition.partition)


def _ensure_expected(error: ZooKeeperError | None) -> None:
    """Raise an error other than that a parent exists, or that its topic is gone."""
    if error is not None and not isinstance(error, NodeExistsError | NoNodeError):
        raise error


def _kafka_error(partition: TopicPartition, error: ZooKeeperError) -> KafkaError:
    if isinstance(error, NoNodeError):
        return UnknownTopicOrPartitionError(f"{partition}: the partition is not stored any more")
    return UnknownServerError(f"{partition}: the leadership was not stored ({error})")

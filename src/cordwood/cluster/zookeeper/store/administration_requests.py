"""Requests that administrators leave for the controller (Kafka: nodes below `/admin`).

deletions        topics that are to be deleted
reassignments    replicas that partitions are to have
elections        partitions whose preferred replicas are to lead
"""

from collections.abc import Mapping, Sequence

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
)
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard, GuardedWrites
from cordwood.cluster.zookeeper.store.retried_requests import RetriedRequests
from cordwood.cluster.zookeeper.znodes.cluster_paths import (
    DELETE_TOPICS,
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    delete_topic_path,
)
from cordwood.cluster.zookeeper.znodes.partition_list_znodes import (
    decode_partitions,
    decode_reassignments,
    encode_reassignments,
)
from cordwood.core.types import TopicPartition


class AdministrationRequests:
    """Requests, read and removed by the controller."""

    def __init__(self, client: ZooKeeperClient) -> None:
        self._client = client
        self._requests = RetriedRequests(client)

    async def deletions(self) -> list[str]:
        """Return the names of the topics that are to be deleted, sorted."""
        return await self._requests.children(DELETE_TOPICS)

    async def drop_deletions(self, topics: Sequence[str], guard: ControllerGuard) -> None:
        """Remove requests for deletions."""
        await GuardedWrites(self._client, guard).delete_all(
            [delete_topic_path(each) for each in topics]
        )

    async def reassignments(self) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the requested replicas of partitions; DamagedFileError."""
        node = await self._requests.get(REASSIGN_PARTITIONS)
        return {} if node is None else decode_reassignments(node.data)

    async def write_reassignments(
        self, reassignments: Mapping[TopicPartition, tuple[int, ...]], guard: ControllerGuard
    ) -> None:
        """Replace the requested reassignments; without any, remove the request."""
        if not reassignments:
            await GuardedWrites(self._client, guard).delete_all([REASSIGN_PARTITIONS])
            return
        writes, data = GuardedWrites(self._client, guard), encode_reassignments(reassignments)
        while True:
            node = await self._requests.get(REASSIGN_PARTITIONS)
            operation: MultiOp = (
                CreateOp(REASSIGN_PARTITIONS, data)
                if node is None
                else SetDataOp(REASSIGN_PARTITIONS, data, node.stat.version)
            )
            (result,) = await writes.apply([operation])
            if result.error is None:
                return
            if not isinstance(result.error, BadVersionError | NodeExistsError | NoNodeError):
                raise result.error

    async def elections(self) -> tuple[TopicPartition, ...]:
        """Return the partitions whose preferred replicas are to lead; DamagedFileError."""
        node = await self._requests.get(PREFERRED_REPLICA_ELECTION)
        if node is None:
            return ()
        return decode_partitions(node.data, path=PREFERRED_REPLICA_ELECTION)

    async def drop_elections(self, guard: ControllerGuard) -> None:
        """Remove the request for preferred leaders."""
        await GuardedWrites(self._client, guard).delete_all([PREFERRED_REPLICA_ELECTION])

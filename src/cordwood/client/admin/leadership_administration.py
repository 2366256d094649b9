"""Calls of the admin client about leaders and replicas (Java: `KafkaAdminClient.electLeaders`).

The controller decides about both. A call is repeated while another broker becomes the controller. A
reassignment has begun when its call returns; `list_reassignments` shows those in progress.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

from cordwood.client.admin.admin_types import PartitionReassignment
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.response_errors import ensure_success, error_of
from cordwood.client.topic_partitions import by_topic, partitions_of
from cordwood.core.errors import KafkaError
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from cordwood.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from cordwood.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

T = TypeVar("T")


class ElectionType(Enum):
    """The replicas that an election may choose from (Java: `ElectionType`)."""

    #: The first replica, if it is in sync.
    PREFERRED = 0
    #: Any replica, if none is in sync; records may be lost.
    UNCLEAN = 1


class LeadershipAdministration:
    """The calls; `Admin` has them."""

    @abstractmethod
    def _started(self) -> NetworkClient:
        """Return the running client."""

    async def elect_leaders(
        self,
        partitions: Iterable[tuple[str, int]] | None = None,
        *,
        election: ElectionType = ElectionType.PREFERRED,
    ) -> dict[TopicPartition, KafkaError | None]:
        """Elect leaders of partitions, of all if None is given; return the error of each.

        ELECTION_NOT_NEEDED means that the leader is right already.
        """
        wanted = None if partitions is None else partitions_of(partitions)
        topics = (
            None
            if wanted is None
            else [
                TopicPartitions(topic=topic, partitions=[each.partition for each in names])
                for topic, names in by_topic(wanted).items()
            ]
        )
        request = ElectLeadersRequest(election_type=election.value, topic_partitions=topics)

        async def attempt() -> dict[TopicPartition, KafkaError | None]:
            response = await self._started().send_to_controller(request, ElectLeadersResponse)
            ensure_success(response.error_code, subject="the election")
            return {
                name: _error(each.error_code, each.error_message, name)
                for topic in response.replica_election_results
                for each in topic.partition_result
                for name in partitions_of([(topic.topic, each.partition_id)])
            }

        return await self._retried(attempt)

    async def reassign(
        self, replicas: Mapping[tuple[str, int], Sequence[int] | None]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin to move partitions to these brokers, or cancel moves; return the error of each.

        None instead of brokers cancels the move of a partition.
        """
        wanted = {name: target for key, target in replicas.items() for name in partitions_of([key])}
        request = AlterPartitionReassignmentsRequest(
            topics=[
                ReassignableTopic(
                    name=topic, partitions=[_reassignable(each, wanted[each]) for each in names]
                )
                for topic, names in by_topic(wanted).items()
            ]
        )

        async def attempt() -> dict[TopicPartition, KafkaError | None]:
            response = await self._started().send_to_controller(
                request, AlterPartitionReassignmentsResponse
            )
            ensure_success(
                response.error_code, subject="the reassignment", message=response.error_message
            )
            return {
                name: _error(each.error_code, each.error_message, name)
                for topic in response.responses
                for each in topic.partitions
                for name in partitions_of([(topic.name, each.partition_index)])
            }

        return await self._retried(attempt)

    async def list_reassignments(self) -> dict[TopicPartition, PartitionReassignment]:
        """Return the moves in progress."""

        async def attempt() -> dict[TopicPartition, PartitionReassignment]:
            response = await self._started().send_to_controller(
                ListPartitionReassignmentsRequest(), ListPartitionReassignmentsResponse
            )
            ensure_success(
                response.error_code, subject="reassignments", message=response.error_message
            )
            return {
                name: PartitionReassignment(
                    replicas=tuple(each.replicas),
                    adding=tuple(each.adding_replicas),
                    removing=tuple(each.removing_replicas),
                )
                for topic in response.topics
                for each in topic.partitions
                for name in partitions_of([(topic.name, each.partition_index)])
            }

        return await self._retried(attempt)

    async def alter_replica_log_dirs(
        self, node_id: int, directories: Mapping[tuple[str, int], str]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin to move replicas of a broker to these log directories; return the error of each.

        REPLICA_NOT_AVAILABLE means that the replica will be created there. `describe_log_dirs`
        shows the copies as future replicas until they have replaced the former ones.
        """
        wanted = dict[str, dict[TopicPartition, str]]()
        for key, path in directories.items():
            (name,) = partitions_of([key])
            wanted.setdefault(path, {})[name] = path
        request = AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=path,
                    topics=[
                        AlterReplicaLogDirTopic(
                            name=topic, partitions=[each.partition for each in names]
                        )
                        for topic, names in by_topic(found).items()
                    ],
                )
                for path, found in wanted.items()
            ]
        )

        async def attempt() -> dict[TopicPartition, KafkaError | None]:
            client = self._started()
            if node_id not in client.cluster.brokers:
                await client.refresh()
            response = await client.send(node_id, request, kind=AlterReplicaLogDirsResponse)
            return {
                name: _error(each.error_code, None, name)
                for topic in response.results
                for each in topic.partitions
                for name in partitions_of([(topic.topic_name, each.partition_index)])
            }

        return await self._retried(attempt)

    async def _retried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        return await self._started().retry_until_timeout(attempt)


def _reassignable(name: TopicPartition, target: Sequence[int] | None) -> ReassignablePartition:
    replicas = None if target is None else [*target]
    return ReassignablePartition(partition_index=name.partition, replicas=replicas)


def _error(code: int, message: str | None, name: TopicPartition) -> KafkaError | None:
    return error_of(code, subject=str(name), message=message) if code else None

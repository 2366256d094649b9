"""A broker as its controller sees it: it answers requests, and has a role in its partitions.

Its rules are Kafka's: a request for an earlier registration, or from an earlier controller, is
rejected; a leadership is taken in a later leader epoch. It also drops a replica when the metadata
name a later leader epoch without it: a request to stop it may be lost with its controller.
"""

from dataclasses import dataclass, field

from cordwood.cluster.controller.context.leadership import LEADER_DURING_DELETE
from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaStorageError,
    StaleBrokerEpochError,
    StaleControllerEpochError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionError,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicError,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionError,
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
)
from cordwood.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from cordwood.protocol.schema import Request, Response


@dataclass(frozen=True, slots=True)
class HostedReplica:
    """A replica on a broker, with the leadership that the broker has."""

    topic_id: Uuid
    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    is_recovering: bool


@dataclass
class BrokerModel:
    """A running broker."""

    broker_id: int
    epoch: int
    replicas: dict[TopicPartition, HostedReplica] = field(default_factory=dict)
    #: Leader and leader epoch by partition, for clients.
    metadata: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    live_brokers: set[int] = field(default_factory=set)
    #: Replicas in a failed log directory.
    offline: set[TopicPartition] = field(default_factory=set)
    #: Deletions that fail once.
    undeletable: set[TopicPartition] = field(default_factory=set)
    has_failed_deletion: bool = False
    _controller_epoch: int = 0

    def answer(self, request: Request) -> Response:
        """Return the response to a request."""
        assert isinstance(request, LeaderAndIsrRequest | StopReplicaRequest | UpdateMetadataRequest)
        error = 0
        if request.broker_epoch < self.epoch:
            error = StaleBrokerEpochError.code
        elif request.controller_epoch < self._controller_epoch:
            error = StaleControllerEpochError.code
        else:
            self._controller_epoch = request.controller_epoch
        if isinstance(request, UpdateMetadataRequest):
            if not error:
                self._update(request)
            return UpdateMetadataResponse(error_code=error)
        if isinstance(request, LeaderAndIsrRequest):
            return LeaderAndIsrResponse(
                error_code=error, topics=[] if error else self._lead_and_follow(request)
            )
        return StopReplicaResponse(
            error_code=error, partition_errors=[] if error else self._stop(request)
        )

    def _lead_and_follow(self, request: LeaderAndIsrRequest) -> list[LeaderAndIsrTopicError]:
        return [
            LeaderAndIsrTopicError(
                topic_id=topic.topic_id,
                partition_errors=[
                    LeaderAndIsrPartitionError(
                        partition_index=each.partition_index,
                        error_code=self._take(_name(topic.topic_name, each), topic.topic_id, each),
                    )
                    for each in topic.partition_states
                ],
            )
            for topic in request.topic_states
        ]

    def _take(self, name: TopicPartition, topic_id: Uuid, state: LeaderAndIsrPartitionState) -> int:
        if name in self.offline:
            return KafkaStorageError.code
        known = self.replicas.get(name)
        is_later = known is None or state.leader_epoch > known.leader_epoch
        if known is not None and known.topic_id != topic_id:
            is_later = True
        if not is_later:
            return StaleControllerEpochError.code
        self.replicas[name] = HostedReplica(
            topic_id,
            state.leader,
            state.leader_epoch,
            state.partition_epoch,
            tuple(state.isr),
            bool(state.leader_recovery_state),
        )
        return 0

    def _update(self, request: UpdateMetadataRequest) -> None:
        self.live_brokers = {each.id for each in request.live_brokers}
        for topic in request.topic_states:
            for each in topic.partition_states:
                name = _name(topic.topic_name, each)
                self.metadata[name] = (each.leader, each.leader_epoch)
                if each.leader == LEADER_DURING_DELETE:
                    del self.metadata[name]
                if self.broker_id not in each.replicas:
                    self._drop_earlier(name, each)

    def _drop_earlier(self, name: TopicPartition, state: UpdateMetadataPartitionState) -> None:
        known = self.replicas.get(name)
        is_deleted = state.leader == LEADER_DURING_DELETE
        if known is not None and (is_deleted or state.leader_epoch >= known.leader_epoch):
            del self.replicas[name]

    def _stop(self, request: StopReplicaRequest) -> list[StopReplicaPartitionError]:
        return [
            StopReplicaPartitionError(
                topic_name=topic.topic_name,
                partition_index=each.partition_index,
                error_code=self._stop_one(_name(topic.topic_name, each), each),
            )
            for topic in request.topic_states
            for each in topic.partition_states
        ]

    def _stop_one(self, name: TopicPartition, state: StopReplicaPartitionState) -> int:
        if name in self.offline or (state.delete_partition and name in self.undeletable):
            self.undeletable.discard(name)
            self.has_failed_deletion = True
            return KafkaStorageError.code
        known = self.replicas.get(name)
        if known is not None and 0 <= state.leader_epoch < known.leader_epoch:
            return FencedLeaderEpochError.code
        self.replicas.pop(name, None)
        return 0


def _name(
    topic: str,
    state: LeaderAndIsrPartitionState | StopReplicaPartitionState | UpdateMetadataPartitionState,
) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(state.partition_index))

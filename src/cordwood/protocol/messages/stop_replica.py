"""StopReplica: the controller's request to a broker to stop replicas, and to delete them if set.

Between brokers; the last versions are Kafka 3.9's.

    v1  the broker's epoch fences requests to an earlier incarnation; partitions by topic
    v2  flexible
    v3  leader epochs, and deletion by partition; an outdated epoch gives FENCED_LEADER_EPOCH
    v4  KRaft controllers, during their migration
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, Int64, String


class StopReplicaPartitionV0(Struct):
    """One partition, in version 0."""

    topic_name: String
    partition_index: Int32


class StopReplicaTopicV1(Struct):
    """Partitions of one topic, in versions 1 and 2."""

    name: String
    partition_indexes: list[Int32]


class StopReplicaPartitionState(Struct):
    """One partition, from version 3 on."""

    partition_index: Int32
    #: -1: no check; -2: the topic is being deleted.
    leader_epoch: Int32 = field(default=-1)
    delete_partition: Bool


class StopReplicaTopicState(Struct):
    """Partitions of one topic, from version 3 on."""

    topic_name: String
    partition_states: list[StopReplicaPartitionState]


class StopReplicaRequest(Request, api_key=5, versions=(0, 4), flexible_since=2):
    """The replicas: `ungrouped_partitions` in version 0, `topics` up to 2, later `topic_states`."""

    controller_id: Int32
    is_kraft_controller: Bool = field(since=4, default=False, name="isKRaftController")
    controller_epoch: Int32
    broker_epoch: Int64 = field(since=1, default=-1, ignorable=True)
    delete_partitions: Bool = field(until=2, default=False)
    ungrouped_partitions: list[StopReplicaPartitionV0] = field(until=0, default=[])
    topics: list[StopReplicaTopicV1] = field(since=1, until=2, default=[])
    topic_states: list[StopReplicaTopicState] = field(since=3, default=[])


class StopReplicaPartitionError(Struct):
    """Result of one partition."""

    topic_name: String
    partition_index: Int32
    error_code: Int16


class StopReplicaResponse(Response, api_key=5, versions=(0, 4), flexible_since=2):
    """Results by partition."""

    error_code: Int16
    partition_errors: list[StopReplicaPartitionError]

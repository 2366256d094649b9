"""LeaderAndIsr: the controller's assignment of leaders and followers to a broker.

Between brokers; the last versions are Kafka 3.9's.

    v1  whether a replica is new, so that its log may be created
    v2  the broker's epoch fences requests to an earlier incarnation; partitions by topic
    v3  reassignments
    v4  flexible
    v5  topic ids; whether the request lists all partitions (2) or some (1)
    v6  whether a leader was elected uncleanly and still has to recover
    v7  KRaft controllers, during their migration
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, Int64, String, Uuid


class LeaderAndIsrPartitionState(Struct):
    """The leader, the replicas and the in-sync replicas of one partition."""

    topic_name: String = field(until=1, default="", ignorable=True)
    partition_index: Int32
    controller_epoch: Int32
    #: -1 without a leader, -2 while the topic is being deleted.
    leader: Int32
    leader_epoch: Int32
    isr: list[Int32]
    #: Version of the partition's state in ZooKeeper.
    partition_epoch: Int32
    replicas: list[Int32]
    adding_replicas: list[Int32] = field(since=3, default=[], ignorable=True)
    removing_replicas: list[Int32] = field(since=3, default=[], ignorable=True)
    is_new: Bool = field(since=1, default=False, ignorable=True)
    leader_recovery_state: Int8 = field(since=6, default=0)


class LeaderAndIsrTopicState(Struct):
    """The partitions of one topic."""

    topic_name: String
    topic_id: Uuid = field(since=5, default=NO_UUID, ignorable=True)
    partition_states: list[LeaderAndIsrPartitionState]


class LeaderAndIsrLiveLeader(Struct):
    """The address of a leader in the request."""

    broker_id: Int32
    host_name: String
    port: Int32


class LeaderAndIsrRequest(Request, api_key=4, versions=(0, 7), flexible_since=4):
    """The states: `ungrouped_partition_states` up to version 1, later `topic_states`."""

    controller_id: Int32
    is_kraft_controller: Bool = field(since=7, default=False, name="isKRaftController")
    controller_epoch: Int32
    broker_epoch: Int64 = field(since=2, default=-1, ignorable=True)
    type: Int8 = field(since=5, default=0)
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = field(until=1, default=[])
    topic_states: list[LeaderAndIsrTopicState] = field(since=2, default=[])
    live_leaders: list[LeaderAndIsrLiveLeader]


class LeaderAndIsrPartitionError(Struct):
    """Result of one partition."""

    topic_name: String = field(until=4, default="", ignorable=True)
    partition_index: Int32
    error_code: Int16


class LeaderAndIsrTopicError(Struct):
    """Result of one topic."""

    topic_id: Uuid
    partition_errors: list[LeaderAndIsrPartitionError]


class LeaderAndIsrResponse(Response, api_key=4, versions=(0, 7), flexible_since=4):
    """Results: `partition_errors` up to version 4, later `topics`."""

    error_code: Int16
    partition_errors: list[LeaderAndIsrPartitionError] = field(until=4, default=[])
    topics: list[LeaderAndIsrTopicError] = field(since=5, default=[])

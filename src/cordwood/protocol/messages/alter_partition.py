"""AlterPartition: a leader's request to the controller to change the in-sync replicas.

Between brokers; versions 0 and 1 are Kafka 3.9's.

    v1  whether the leader has recovered from an unclean election
    v2  topics by id only; INELIGIBLE_REPLICA, NEW_LEADER_ELECTED and UNKNOWN_TOPIC_ID may be
        returned
    v3  epochs of the in-sync brokers: a broker that has restarted meanwhile is ineligible
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, Int64, String, Uuid


class BrokerState(Struct):
    """An in-sync broker; epoch -1 is not checked."""

    broker_id: Int32
    broker_epoch: Int64 = field(default=-1)


class AlterPartitionState(Struct):
    """The proposed state of one partition: `new_isr` up to version 2, later with broker epochs."""

    partition_index: Int32
    leader_epoch: Int32
    new_isr: list[Int32] = field(until=2, default=[])
    new_isr_with_epochs: list[BrokerState] = field(since=3, default=[])
    leader_recovery_state: Int8 = field(since=1, default=0)
    #: The leader's version of the partition's state, in ZooKeeper or in KRaft. The change is
    #: rejected if the state has another version.
    partition_epoch: Int32


class AlterPartitionTopic(Struct):
    """Changes in one topic."""

    topic_name: String = field(until=1, default="", ignorable=True)
    topic_id: Uuid = field(since=2, default=NO_UUID, ignorable=True)
    partitions: list[AlterPartitionState]


class AlterPartitionRequest(Request, api_key=56, versions=(0, 3), flexible_since=0):
    """The changes that a leader proposes."""

    broker_id: Int32
    broker_epoch: Int64 = field(default=-1)
    topics: list[AlterPartitionTopic]


class AlteredPartitionState(Struct):
    """The state of one partition, or the error."""

    partition_index: Int32
    error_code: Int16
    leader_id: Int32
    leader_epoch: Int32
    isr: list[Int32]
    leader_recovery_state: Int8 = field(since=1, default=0, ignorable=True)
    partition_epoch: Int32


class AlteredPartitionTopic(Struct):
    """The partitions of one topic."""

    topic_name: String = field(until=1, default="", ignorable=True)
    topic_id: Uuid = field(since=2, default=NO_UUID, ignorable=True)
    partitions: list[AlteredPartitionState]


class AlterPartitionResponse(Response, api_key=56, versions=(0, 3), flexible_since=0):
    """The present states by partition."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    topics: list[AlteredPartitionTopic]

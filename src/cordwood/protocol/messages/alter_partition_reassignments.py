"""AlterPartitionReassignments: starts or cancels moves of partitions to other brokers.

Version 1 can forbid changes of the replication factor.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, String


class ReassignablePartition(Struct):
    """The brokers that a partition moves to; None cancels a move in progress."""

    partition_index: Int32
    replicas: list[Int32] | None = field(default=None)


class ReassignableTopic(Struct):
    """Partitions of one topic."""

    name: String
    partitions: list[ReassignablePartition]


class AlterPartitionReassignmentsRequest(Request, api_key=45, versions=(0, 1), flexible_since=0):
    """The moves to start or to cancel."""

    timeout_ms: Int32 = field(default=60000)
    allow_replication_factor_change: Bool = field(since=1, default=True)
    topics: list[ReassignableTopic]


class ReassignablePartitionResponse(Struct):
    """Result of one partition."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None


class ReassignableTopicResponse(Struct):
    """Result of one topic."""

    name: String
    partitions: list[ReassignablePartitionResponse]


class AlterPartitionReassignmentsResponse(Response, api_key=45, versions=(0, 1), flexible_since=0):
    """Results by partition: whether its move has started."""

    throttle_time_ms: Int32 = field(default=0)
    allow_replication_factor_change: Bool = field(since=1, default=True, ignorable=True)
    error_code: Int16
    error_message: String | None
    responses: list[ReassignableTopicResponse]

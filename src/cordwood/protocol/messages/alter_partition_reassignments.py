"""AlterPartitionReassignments: partitions to other brokers; or no longer.

Version 1 can forbid that the number of replicas changes.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bool, Int16, Int32, String


class ReassignablePartition(Struct):
    """The brokers a partition should have; None stops a move that is under way."""

    partition_index: Int32
    replicas: list[Int32] | None = field(default=None)


class ReassignableTopic(Struct):
    """Partitions of one topic."""

    name: String
    partitions: list[ReassignablePartition]


class AlterPartitionReassignmentsRequest(Request, api_key=45, versions=(0, 1), flexible_since=0):
    """The moves to begin or to stop."""

    timeout_ms: Int32 = field(default=60000)
    allow_replication_factor_change: Bool = field(since=1, default=True)
    topics: list[ReassignableTopic]


class ReassignablePartitionResponse(Struct):
    """How it went with one partition."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None


class ReassignableTopicResponse(Struct):
    """How it went with one topic."""

    name: String
    partitions: list[ReassignablePartitionResponse]


class AlterPartitionReassignmentsResponse(Response, api_key=45, versions=(0, 1), flexible_since=0):
    """Whether the moves have begun."""

    throttle_time_ms: Int32 = field(default=0)
    allow_replication_factor_change: Bool = field(since=1, default=True, ignorable=True)
    error_code: Int16
    error_message: String | None
    responses: list[ReassignableTopicResponse]

"""ListPartitionReassignments: the partition moves in progress."""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String


class ListPartitionReassignmentsTopics(Struct):
    """Partitions of one topic."""

    name: String
    partition_indexes: list[Int32]


class ListPartitionReassignmentsRequest(Request, api_key=46, versions=(0, 0), flexible_since=0):
    """The partitions to describe; None for all."""

    timeout_ms: Int32 = field(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = field(default=None)


class OngoingPartitionReassignment(Struct):
    """A move: the present replicas, and those that are added and removed."""

    partition_index: Int32
    replicas: list[Int32]
    adding_replicas: list[Int32]
    removing_replicas: list[Int32]


class OngoingTopicReassignment(Struct):
    """Moves in one topic."""

    name: String
    partitions: list[OngoingPartitionReassignment]


class ListPartitionReassignmentsResponse(Response, api_key=46, versions=(0, 0), flexible_since=0):
    """The moves among the requested partitions."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None
    topics: list[OngoingTopicReassignment]

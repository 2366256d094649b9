"""ListPartitionReassignments: the moves that are under way."""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, String


class ListPartitionReassignmentsTopics(Struct):
    """Partitions of one topic."""

    name: String
    partition_indexes: list[Int32]


class ListPartitionReassignmentsRequest(Request, api_key=46, versions=(0, 0), flexible_since=0):
    """The partitions to tell of; None for all."""

    timeout_ms: Int32 = field(default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = field(default=None)


class OngoingPartitionReassignment(Struct):
    """A move: the replicas there are now, and which of them come and go."""

    partition_index: Int32
    replicas: list[Int32]
    adding_replicas: list[Int32]
    removing_replicas: list[Int32]


class OngoingTopicReassignment(Struct):
    """Moves in one topic."""

    name: String
    partitions: list[OngoingPartitionReassignment]


class ListPartitionReassignmentsResponse(Response, api_key=46, versions=(0, 0), flexible_since=0):
    """Those of them that are being moved."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None
    topics: list[OngoingTopicReassignment]

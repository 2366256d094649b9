"""ElectLeaders: elects the preferred replica, or any live replica, as leader.

Election types, from version 1 on: 0 preferred, 1 unclean. Version 1 also added an error of the
whole request. Version 2 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, String


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic: String
    partitions: list[Int32]


class ElectLeadersRequest(Request, api_key=43, versions=(0, 2), flexible_since=2):
    """The partitions to elect leaders for; None for all."""

    election_type: Int8 = field(since=1, default=0)
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: Int32 = field(default=60000)


class PartitionResult(Struct):
    """Result of one partition; ELECTION_NOT_NEEDED if its leader is already right."""

    partition_id: Int32
    error_code: Int16
    error_message: String | None


class ReplicaElectionResult(Struct):
    """Result of one topic."""

    topic: String
    partition_result: list[PartitionResult]


class ElectLeadersResponse(Response, api_key=43, versions=(0, 2), flexible_since=2):
    """Results by partition."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16 = field(since=1, default=0)
    replica_election_results: list[ReplicaElectionResult]

"""OffsetForLeaderEpoch: the end offset of a leader epoch, to detect diverging logs.

The response contains the largest epoch that is not above the requested one, and its end offset.
Both are -1 if there is none. Version 3 added the replica id; version 4 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class OffsetForLeaderPartition(Struct):
    """The lookup in one partition."""

    partition: Int32
    #: The leader epoch in the sender's metadata; -1 disables the check.
    current_leader_epoch: Int32 = field(default=-1)
    leader_epoch: Int32


class OffsetForLeaderTopic(Struct):
    """Lookups in one topic."""

    topic: String
    partitions: list[OffsetForLeaderPartition]


class OffsetForLeaderEpochRequest(Request, api_key=23, versions=(2, 4), flexible_since=4):
    """Epochs to look up."""

    #: A follower's id, -1 for consumers, -2 for tools.
    replica_id: Int32 = field(since=3, default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic]


class EpochEndOffset(Struct):
    """The epoch and its end offset in one partition."""

    error_code: Int16
    partition: Int32
    leader_epoch: Int32 = field(default=-1)
    end_offset: Int64 = field(default=-1)


class OffsetForLeaderTopicResult(Struct):
    """The end offsets in one topic."""

    topic: String
    partitions: list[EpochEndOffset]


class OffsetForLeaderEpochResponse(Response, api_key=23, versions=(2, 4), flexible_since=4):
    """The end offsets by partition."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[OffsetForLeaderTopicResult]

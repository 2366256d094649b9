"""OffsetForLeaderEpoch: where an epoch of a leader ended; so a reader learns where its log is no
longer the leader's.

Answered is the largest epoch that is not above the asked one, with the offset behind its last
record; -1 for both if there is none. Version 3 added who asks, version 4 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, Int64, String


class OffsetForLeaderPartition(Struct):
    """The look-up in one partition."""

    partition: Int32
    #: The epoch that the asker believes in; -1 asks whoever leads.
    current_leader_epoch: Int32 = field(default=-1)
    leader_epoch: Int32


class OffsetForLeaderTopic(Struct):
    """Look-ups in one topic."""

    topic: String
    partitions: list[OffsetForLeaderPartition]


class OffsetForLeaderEpochRequest(Request, api_key=23, versions=(2, 4), flexible_since=4):
    """Epochs to look up."""

    #: A follower's id, -1 for consumers, -2 for tools.
    replica_id: Int32 = field(since=3, default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic]


class EpochEndOffset(Struct):
    """What was found in one partition."""

    error_code: Int16
    partition: Int32
    leader_epoch: Int32 = field(default=-1)
    end_offset: Int64 = field(default=-1)


class OffsetForLeaderTopicResult(Struct):
    """What was found in one topic."""

    topic: String
    partitions: list[EpochEndOffset]


class OffsetForLeaderEpochResponse(Response, api_key=23, versions=(2, 4), flexible_since=4):
    """Where the epochs ended."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[OffsetForLeaderTopicResult]

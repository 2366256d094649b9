"""ListOffsets: the offset that belongs to a time, or to one of the places that have a name.

Places are asked for as negative timestamps:

    -1  the end: the high watermark, or the last stable offset under read_committed
    -2  the log start offset
    -3  the record with the largest timestamp                          from v7 on
    -4  the earliest offset on the broker's own disk                   from v8 on
    -5  the last offset that has been moved to tiered storage          from v9 on
    -6  the earliest offset that has not been moved there yet          from v11 on

A time later than every record's answers offset -1 and timestamp -1 together. Isolation came with
v2, leader epochs with v4, flexible versions with v6, a time limit for remote look-ups with v10.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int8, Int16, Int32, Int64, String


class ListOffsetsPartition(Struct):
    """The look-up in one partition."""

    partition_index: Int32
    current_leader_epoch: Int32 = field(since=4, default=-1, ignorable=True)
    timestamp: Int64


class ListOffsetsTopic(Struct):
    """Look-ups in one topic."""

    name: String
    partitions: list[ListOffsetsPartition]


class ListOffsetsRequest(Request, api_key=2, versions=(1, 11), flexible_since=6):
    """Times and places to look up."""

    #: -1 for consumers, -2 for tools that may look past the high watermark.
    replica_id: Int32
    isolation_level: Int8 = field(since=2, default=0)
    topics: list[ListOffsetsTopic]
    timeout_ms: Int32 = field(since=10, default=0, ignorable=True)


class ListOffsetsPartitionResponse(Struct):
    """What was found in one partition; -1 twice where there is nothing so late."""

    partition_index: Int32
    error_code: Int16
    timestamp: Int64 = field(default=-1)
    offset: Int64 = field(default=-1)
    leader_epoch: Int32 = field(since=4, default=-1)


class ListOffsetsTopicResponse(Struct):
    """What was found in one topic."""

    name: String
    partitions: list[ListOffsetsPartitionResponse]


class ListOffsetsResponse(Response, api_key=2, versions=(1, 11), flexible_since=6):
    """The offsets that were found."""

    throttle_time_ms: Int32 = field(since=2, default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse]

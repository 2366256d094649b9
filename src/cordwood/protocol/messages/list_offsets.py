"""ListOffsets: the offset for a timestamp, or for a special value.

Special values are negative timestamps:

    -1  latest: the high watermark, or the last stable offset under read_committed
    -2  earliest: the log start offset
    -3  the record with the largest timestamp                            from v7 on
    -4  the earliest offset on the broker's own disk                     from v8 on
    -5  the last offset in tiered storage                                from v9 on
    -6  the earliest offset that is not in tiered storage yet            from v11 on

A timestamp after that of every record gives offset -1 and timestamp -1. Version 2 added isolation
levels, version 4 leader epochs, and version 10 a timeout for remote lookups. Version 6 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, Int64, String


class ListOffsetsPartition(Struct):
    """The lookup in one partition."""

    partition_index: Int32
    current_leader_epoch: Int32 = field(since=4, default=-1, ignorable=True)
    timestamp: Int64


class ListOffsetsTopic(Struct):
    """Lookups in one topic."""

    name: String
    partitions: list[ListOffsetsPartition]


class ListOffsetsRequest(Request, api_key=2, versions=(1, 11), flexible_since=6):
    """Timestamps and special values to look up."""

    #: -1 for consumers, -2 for tools that may read past the high watermark.
    replica_id: Int32
    isolation_level: Int8 = field(since=2, default=0)
    topics: list[ListOffsetsTopic]
    timeout_ms: Int32 = field(since=10, default=0, ignorable=True)


class ListOffsetsPartitionResponse(Struct):
    """The offset in one partition; -1 twice if every record is older."""

    partition_index: Int32
    error_code: Int16
    timestamp: Int64 = field(default=-1)
    offset: Int64 = field(default=-1)
    leader_epoch: Int32 = field(since=4, default=-1)


class ListOffsetsTopicResponse(Struct):
    """The offsets in one topic."""

    name: String
    partitions: list[ListOffsetsPartitionResponse]


class ListOffsetsResponse(Response, api_key=2, versions=(1, 11), flexible_since=6):
    """The offsets by partition."""

    throttle_time_ms: Int32 = field(since=2, default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse]

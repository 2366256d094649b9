"""DescribeShareGroupOffsets: the start offsets of share groups.

Version 1 adds the lag.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String, Uuid


class DescribeShareGroupOffsetsRequestTopic(Struct):
    """Partitions of one topic."""

    topic_name: String
    partitions: list[Int32]


class DescribeShareGroupOffsetsRequestGroup(Struct):
    """A group and its topics; None for all topics."""

    group_id: String
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None


class DescribeShareGroupOffsetsRequest(Request, api_key=90, versions=(0, 1), flexible_since=0):
    """The groups to describe."""

    groups: list[DescribeShareGroupOffsetsRequestGroup]


class DescribeShareGroupOffsetsResponsePartition(Struct):
    """The offset in one partition; -1 if delivery has not begun."""

    partition_index: Int32
    start_offset: Int64
    leader_epoch: Int32
    lag: Int64 = field(since=1, default=-1, ignorable=True)
    error_code: Int16
    error_message: String | None = field(default=None)


class DescribeShareGroupOffsetsResponseTopic(Struct):
    """The offsets in one topic."""

    topic_name: String
    topic_id: Uuid
    partitions: list[DescribeShareGroupOffsetsResponsePartition]


class DescribeShareGroupOffsetsResponseGroup(Struct):
    """The offsets of one group."""

    group_id: String
    topics: list[DescribeShareGroupOffsetsResponseTopic]
    error_code: Int16
    error_message: String | None = field(default=None)


class DescribeShareGroupOffsetsResponse(Response, api_key=90, versions=(0, 1), flexible_since=0):
    """The offsets by group."""

    throttle_time_ms: Int32 = field(default=0)
    groups: list[DescribeShareGroupOffsetsResponseGroup]

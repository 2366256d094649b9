"""OffsetDelete: deletes a group's offsets in some partitions.

A topic with a subscribed member gives GROUP_SUBSCRIBED_TO_TOPIC. No version is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String


class OffsetDeleteRequestPartition(Struct):
    """One partition."""

    partition_index: Int32


class OffsetDeleteRequestTopic(Struct):
    """Partitions of one topic."""

    name: String
    partitions: list[OffsetDeleteRequestPartition]


class OffsetDeleteRequest(Request, api_key=47, versions=(0, 0)):
    """The offsets to delete."""

    group_id: String
    topics: list[OffsetDeleteRequestTopic]


class OffsetDeleteResponsePartition(Struct):
    """Result of one partition."""

    partition_index: Int32
    error_code: Int16


class OffsetDeleteResponseTopic(Struct):
    """Result of one topic."""

    name: String
    partitions: list[OffsetDeleteResponsePartition]


class OffsetDeleteResponse(Response, api_key=47, versions=(0, 0)):
    """Results by partition."""

    error_code: Int16
    throttle_time_ms: Int32 = field(default=0)
    topics: list[OffsetDeleteResponseTopic]

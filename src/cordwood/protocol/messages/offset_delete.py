"""OffsetDelete: single offsets of a group, gone.

A topic that a member still subscribes to is GROUP_SUBSCRIBED_TO_TOPIC. Never became flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, String


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
    """How it went with one partition."""

    partition_index: Int32
    error_code: Int16


class OffsetDeleteResponseTopic(Struct):
    """How it went with one topic."""

    name: String
    partitions: list[OffsetDeleteResponsePartition]


class OffsetDeleteResponse(Response, api_key=47, versions=(0, 0)):
    """How it went, partition by partition."""

    error_code: Int16
    throttle_time_ms: Int32 = field(default=0)
    topics: list[OffsetDeleteResponseTopic]

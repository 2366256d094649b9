"""AlterShareGroupOffsets: sets the offsets from which an empty share group delivers records."""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String, Uuid


class AlterShareGroupOffsetsRequestPartition(Struct):
    """The offset in one partition."""

    partition_index: Int32
    start_offset: Int64


class AlterShareGroupOffsetsRequestTopic(Struct):
    """Offsets in one topic."""

    topic_name: String
    partitions: list[AlterShareGroupOffsetsRequestPartition]


class AlterShareGroupOffsetsRequest(Request, api_key=91, versions=(0, 0), flexible_since=0):
    """The group, and the offsets to set."""

    group_id: String
    topics: list[AlterShareGroupOffsetsRequestTopic]


class AlterShareGroupOffsetsResponsePartition(Struct):
    """Result of one partition."""

    partition_index: Int32
    error_code: Int16
    error_message: String | None = field(default=None)


class AlterShareGroupOffsetsResponseTopic(Struct):
    """Result of one topic."""

    topic_name: String
    topic_id: Uuid
    partitions: list[AlterShareGroupOffsetsResponsePartition]


class AlterShareGroupOffsetsResponse(Response, api_key=91, versions=(0, 0), flexible_since=0):
    """Results by partition."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None = field(default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic]

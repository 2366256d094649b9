"""DeleteShareGroupOffsets: deletes an empty share group's offsets in some topics."""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String, Uuid


class DeleteShareGroupOffsetsRequestTopic(Struct):
    """A topic."""

    topic_name: String


class DeleteShareGroupOffsetsRequest(Request, api_key=92, versions=(0, 0), flexible_since=0):
    """The group and the topics."""

    group_id: String
    topics: list[DeleteShareGroupOffsetsRequestTopic]


class DeleteShareGroupOffsetsResponseTopic(Struct):
    """Result of one topic."""

    topic_name: String
    topic_id: Uuid
    error_code: Int16
    error_message: String | None = field(default=None)


class DeleteShareGroupOffsetsResponse(Response, api_key=92, versions=(0, 0), flexible_since=0):
    """Results by topic."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None = field(default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic]

"""DeleteTopics: deletes topics and their data.

Changes by version:

    v3  TOPIC_DELETION_DISABLED may be returned
    v4  flexible
    v5  error messages; THROTTLING_QUOTA_EXCEEDED may be returned
    v6  topics by either id or name
"""

from cordwood.core.uuids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String, Uuid


class DeleteTopicState(Struct):
    """A topic by name, or by id with a null name."""

    name: String | None = field(default=None)
    topic_id: Uuid


class DeleteTopicsRequest(Request, api_key=20, versions=(1, 6), flexible_since=4):
    """The topics to delete: `topic_names` up to version 5, `topics` from 6 on."""

    topics: list[DeleteTopicState] = field(since=6, default=[])
    topic_names: list[String] = field(until=5, default=[], ignorable=True)
    timeout_ms: Int32


class DeletableTopicResult(Struct):
    """Result of one topic. The name is null for an unknown topic id."""

    name: String | None = field(nullable_since=6)
    topic_id: Uuid = field(since=6, default=NO_UUID, ignorable=True)
    error_code: Int16
    error_message: String | None = field(since=5, default=None, ignorable=True)


class DeleteTopicsResponse(Response, api_key=20, versions=(1, 6), flexible_since=4):
    """Results by topic."""

    throttle_time_ms: Int32 = field(default=0)
    responses: list[DeletableTopicResult]

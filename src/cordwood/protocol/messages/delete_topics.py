"""DeleteTopics: topics and everything in them, gone.

v3  TOPIC_DELETION_DISABLED may be answered
v4  flexible
v5  answers carry a message; THROTTLING_QUOTA_EXCEEDED may be answered
v6  topics by id or by name, one of the two
"""

from cordwood.core.ids import NO_UUID
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, String, Uuid


class DeleteTopicState(Struct):
    """A topic by name, or by id with a null name."""

    name: String | None = field(default=None)
    topic_id: Uuid


class DeleteTopicsRequest(Request, api_key=20, versions=(1, 6), flexible_since=4):
    """Topics to delete: `topic_names` up to version 5, `topics` from 6 on."""

    topics: list[DeleteTopicState] = field(since=6, default=[])
    topic_names: list[String] = field(until=5, default=[], ignorable=True)
    timeout_ms: Int32


class DeletableTopicResult(Struct):
    """What became of one topic. The name is null if an id was asked that is not known."""

    name: String | None = field(nullable_since=6)
    topic_id: Uuid = field(since=6, default=NO_UUID, ignorable=True)
    error_code: Int16
    error_message: String | None = field(since=5, default=None, ignorable=True)


class DeleteTopicsResponse(Response, api_key=20, versions=(1, 6), flexible_since=4):
    """How it went, topic by topic."""

    throttle_time_ms: Int32 = field(default=0)
    responses: list[DeletableTopicResult]

"""CreatePartitions: adds partitions to existing topics.

Version 2 is flexible; from version 3 on THROTTLING_QUOTA_EXCEEDED may be returned.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, String


class CreatePartitionsAssignment(Struct):
    """The brokers of one new partition; the first is the preferred leader."""

    broker_ids: list[Int32]


class CreatePartitionsTopic(Struct):
    """A topic and its new total number of partitions."""

    name: String
    count: Int32
    #: One for each new partition, in order; None: the broker assigns replicas.
    assignments: list[CreatePartitionsAssignment] | None


class CreatePartitionsRequest(Request, api_key=37, versions=(0, 3), flexible_since=2):
    """The topics to extend; with `validate_only`, the request is only validated."""

    topics: list[CreatePartitionsTopic]
    timeout_ms: Int32
    validate_only: Bool


class CreatePartitionsTopicResult(Struct):
    """Result of one topic."""

    name: String
    error_code: Int16
    error_message: String | None = field(default=None)


class CreatePartitionsResponse(Response, api_key=37, versions=(0, 3), flexible_since=2):
    """Results by topic."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[CreatePartitionsTopicResult]

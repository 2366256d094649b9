"""DescribeTopicPartitions: topic metadata in pages.

The API is optional: clients fall back to Metadata if it is not advertised. Java's client fails on a
null value in the two lists of eligible leaders, although the definition allows it. Both lists are
therefore required when a response is created.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, String, Uuid


class TopicRequest(Struct):
    """A topic by name."""

    name: String


class Cursor(Struct):
    """The first partition of a page."""

    topic_name: String
    partition_index: Int32


class DescribeTopicPartitionsRequest(Request, api_key=75, versions=(0, 0), flexible_since=0):
    """The topics to describe, and the cursor."""

    topics: list[TopicRequest]
    response_partition_limit: Int32 = field(default=2000)
    cursor: Cursor | None = field(default=None)


class DescribeTopicPartitionsResponsePartition(Struct):
    """The leader, the replicas and the eligible leaders of a partition."""

    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = field(default=-1)
    replica_nodes: list[Int32]
    isr_nodes: list[Int32]
    eligible_leader_replicas: list[Int32] | None
    last_known_elr: list[Int32] | None
    offline_replicas: list[Int32]


class DescribeTopicPartitionsResponseTopic(Struct):
    """A topic, or the error."""

    error_code: Int16
    name: String | None
    topic_id: Uuid
    is_internal: Bool = field(default=False)
    partitions: list[DescribeTopicPartitionsResponsePartition]
    topic_authorized_operations: Int32 = field(default=-0x80000000)


class DescribeTopicPartitionsResponse(Response, api_key=75, versions=(0, 0), flexible_since=0):
    """One page of topics; `next_cursor` is None on the last."""

    throttle_time_ms: Int32 = field(default=0)
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: Cursor | None = field(default=None)

"""ConsumerGroupHeartbeat: the only request of a KIP-848 group's members.

Null means "unchanged" in both directions. A member repeats only changed fields. A null assignment
changes nothing, while an empty one revokes all partitions. Clients apply the interval in the
response exactly, so it must not be 0.

In version 0 the coordinator generated the member id. From version 1 on the member generates it, and
may subscribe by a regular expression.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String, Uuid


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: Uuid
    partitions: list[Int32]


class ConsumerGroupHeartbeatRequest(Request, api_key=68, versions=(0, 1), flexible_since=0):
    """A member's state. Epoch 0 joins, -1 leaves, -2 leaves temporarily as a static member."""

    group_id: String
    member_id: String
    member_epoch: Int32
    instance_id: String | None = field(default=None)
    rack_id: String | None = field(default=None)
    rebalance_timeout_ms: Int32 = field(default=-1)
    subscribed_topic_names: list[String] | None = field(default=None)
    subscribed_topic_regex: String | None = field(since=1, default=None)
    server_assignor: String | None = field(default=None)
    #: The partitions that the member owns, after assignments and revocations.
    topic_partitions: list[TopicPartitions] | None = field(default=None)


class Assignment(Struct):
    """The member's complete assignment."""

    topic_partitions: list[TopicPartitions]


class ConsumerGroupHeartbeatResponse(Response, api_key=68, versions=(0, 1), flexible_since=0):
    """The coordinator's state of the member."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None = field(default=None)
    member_id: String | None = field(default=None)
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: Assignment | None = field(default=None)

"""ConsumerGroupDescribe: state and members of KIP-848 groups.

Clients send this request before DescribeGroups: a classic group gives GROUP_ID_NOT_FOUND here.
Version 1 distinguishes classic members (0) from consumer members (1); -1 is unknown.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, String, Uuid


class ConsumerGroupDescribeRequest(Request, api_key=69, versions=(0, 1), flexible_since=0):
    """The groups to describe."""

    group_ids: list[String]
    include_authorized_operations: Bool


class TopicPartitions(Struct):
    """Partitions of one topic."""

    topic_id: Uuid
    topic_name: String
    partitions: list[Int32]


class Assignment(Struct):
    """The present or the target assignment of a member."""

    topic_partitions: list[TopicPartitions]


class Member(Struct):
    """A member with its present and its target assignment."""

    member_id: String
    instance_id: String | None = field(default=None)
    rack_id: String | None = field(default=None)
    member_epoch: Int32
    client_id: String
    client_host: String
    subscribed_topic_names: list[String]
    subscribed_topic_regex: String | None = field(default=None)
    assignment: Assignment
    target_assignment: Assignment
    member_type: Int8 = field(since=1, default=-1, ignorable=True)


class DescribedGroup(Struct):
    """A group; its state is Empty, Assigning, Reconciling, Stable or Dead."""

    error_code: Int16
    error_message: String | None = field(default=None)
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: String
    members: list[Member]
    authorized_operations: Int32 = field(default=-0x80000000)


class ConsumerGroupDescribeResponse(Response, api_key=69, versions=(0, 1), flexible_since=0):
    """Descriptions of the groups, in request order."""

    throttle_time_ms: Int32 = field(default=0)
    groups: list[DescribedGroup]

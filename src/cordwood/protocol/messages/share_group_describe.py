"""ShareGroupDescribe: state and members of share groups.

A group of another type gives GROUP_ID_NOT_FOUND.
"""

from cordwood.protocol.messages.consumer_group_describe import Assignment
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, String


class ShareGroupDescribeRequest(Request, api_key=77, versions=(1, 1), flexible_since=0):
    """The groups to describe."""

    group_ids: list[String]
    include_authorized_operations: Bool


class Member(Struct):
    """A member."""

    member_id: String
    rack_id: String | None = field(default=None)
    member_epoch: Int32
    client_id: String
    client_host: String
    subscribed_topic_names: list[String]
    assignment: Assignment


class DescribedGroup(Struct):
    """A group; its state is Empty, Stable or Dead."""

    error_code: Int16
    error_message: String | None = field(default=None)
    group_id: String
    group_state: String
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: String
    members: list[Member]
    authorized_operations: Int32 = field(default=-0x80000000)


class ShareGroupDescribeResponse(Response, api_key=77, versions=(1, 1), flexible_since=0):
    """Descriptions of the groups, in request order."""

    throttle_time_ms: Int32 = field(default=0)
    groups: list[DescribedGroup]

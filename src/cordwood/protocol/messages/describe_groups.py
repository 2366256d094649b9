"""DescribeGroups: state and members of classic groups.

Up to version 5 a group that does not exist is Dead, without an error; version 6 returns
GROUP_ID_NOT_FOUND. Version 3 adds authorized operations, version 4 static members. Version 5 is
flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Bytes, Int16, Int32, String


class DescribeGroupsRequest(Request, api_key=15, versions=(0, 6), flexible_since=5):
    """The groups to describe."""

    groups: list[String]
    include_authorized_operations: Bool = field(since=3, default=False)


class DescribedGroupMember(Struct):
    """A member; metadata and assignment are empty unless the group is stable."""

    member_id: String
    group_instance_id: String | None = field(since=4, default=None, ignorable=True)
    client_id: String
    client_host: String
    member_metadata: Bytes
    member_assignment: Bytes


class DescribedGroup(Struct):
    """A group; its state is Empty, PreparingRebalance, CompletingRebalance, Stable or Dead."""

    error_code: Int16
    error_message: String | None = field(since=6, default=None)
    group_id: String
    group_state: String
    protocol_type: String
    #: The selected protocol, empty unless the group is stable.
    protocol_data: String
    members: list[DescribedGroupMember]
    authorized_operations: Int32 = field(since=3, default=-0x80000000)


class DescribeGroupsResponse(Response, api_key=15, versions=(0, 6), flexible_since=5):
    """Descriptions of the groups, in request order."""

    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    groups: list[DescribedGroup]

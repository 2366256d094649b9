"""LeaveGroup: leaves a classic group before the session timeout.

Changes by version:

    v3  several members, static ones by their instance id: `members` instead of `member_id`
    v4  flexible
    v5  the reasons, for the log
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String


class MemberIdentity(Struct):
    """A member; a static one may have an empty member id."""

    member_id: String
    group_instance_id: String | None = field(default=None)
    reason: String | None = field(since=5, default=None, ignorable=True)


class LeaveGroupRequest(Request, api_key=13, versions=(0, 5), flexible_since=4):
    """The members that leave."""

    group_id: String
    member_id: String = field(until=2, default="")
    members: list[MemberIdentity] = field(since=3, default=[])


class MemberResponse(Struct):
    """Result of one member."""

    member_id: String
    group_instance_id: String | None
    error_code: Int16


class LeaveGroupResponse(Response, api_key=13, versions=(0, 5), flexible_since=4):
    """The result; from version 3 on also by member."""

    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    error_code: Int16
    members: list[MemberResponse] = field(since=3, default=[])

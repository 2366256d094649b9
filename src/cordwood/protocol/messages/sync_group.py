"""SyncGroup: the leader hands in what everybody is to do, and each member gets its own part.

Version 3 knows static members, version 4 is flexible, version 5 says protocol type and name again
so that a mismatch is seen.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bytes, Int16, Int32, String


class SyncGroupRequestAssignment(Struct):
    """One member's part; for consumers a `ConsumerProtocolAssignment`."""

    member_id: String
    assignment: Bytes


class SyncGroupRequest(Request, api_key=14, versions=(0, 5), flexible_since=4):
    """A member waits for its part; the leader brings all parts."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = field(since=3, default=None)
    protocol_type: String | None = field(since=5, default=None, ignorable=True)
    protocol_name: String | None = field(since=5, default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment]


class SyncGroupResponse(Response, api_key=14, versions=(0, 5), flexible_since=4):
    """The member's own part."""

    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    error_code: Int16
    protocol_type: String | None = field(since=5, default=None, ignorable=True)
    protocol_name: String | None = field(since=5, default=None, ignorable=True)
    assignment: Bytes

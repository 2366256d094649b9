"""SyncGroup: the leader sends all assignments, and each member receives its own.

Version 3 adds static members. Version 4 is flexible. Version 5 repeats protocol type and name, to
detect a mismatch.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bytes, Int16, Int32, String


class SyncGroupRequestAssignment(Struct):
    """One member's assignment; for consumers a `ConsumerProtocolAssignment`."""

    member_id: String
    assignment: Bytes


class SyncGroupRequest(Request, api_key=14, versions=(0, 5), flexible_since=4):
    """A member that waits for its assignment; the leader sends all assignments."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = field(since=3, default=None)
    protocol_type: String | None = field(since=5, default=None, ignorable=True)
    protocol_name: String | None = field(since=5, default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment]


class SyncGroupResponse(Response, api_key=14, versions=(0, 5), flexible_since=4):
    """The member's own assignment."""

    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    error_code: Int16
    protocol_type: String | None = field(since=5, default=None, ignorable=True)
    protocol_name: String | None = field(since=5, default=None, ignorable=True)
    assignment: Bytes

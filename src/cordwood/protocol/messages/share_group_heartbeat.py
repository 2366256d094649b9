"""ShareGroupHeartbeat: the membership request of a share group's members.

Null means "unchanged". Members generate their own ids. Clients apply the interval in the response
exactly, so it must not be 0. Version 0 was a preview that no present client uses.
"""

from cordwood.protocol.messages.consumer_group_heartbeat import Assignment
from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire_types import Int16, Int32, String


class ShareGroupHeartbeatRequest(Request, api_key=76, versions=(1, 1), flexible_since=0):
    """A member's state; epoch 0 joins, -1 leaves."""

    group_id: String
    member_id: String
    member_epoch: Int32
    rack_id: String | None = field(default=None)
    subscribed_topic_names: list[String] | None = field(default=None)


class ShareGroupHeartbeatResponse(Response, api_key=76, versions=(1, 1), flexible_since=0):
    """The coordinator's state of the member."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None = field(default=None)
    member_id: String | None = field(default=None)
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: Assignment | None = field(default=None)

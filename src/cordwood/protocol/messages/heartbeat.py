"""Heartbeat: a member of a classic group lives, and hears whether to join again.

REBALANCE_IN_PROGRESS tells it to. Version 3 knows static members, version 4 is flexible.
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire import Int16, Int32, String


class HeartbeatRequest(Request, api_key=12, versions=(0, 4), flexible_since=4):
    """Who lives."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = field(since=3, default=None)


class HeartbeatResponse(Response, api_key=12, versions=(0, 4), flexible_since=4):
    """Whether all is as the member thinks."""

    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    error_code: Int16

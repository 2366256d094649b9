"""Heartbeat: keeps a member's session in a classic group alive.

REBALANCE_IN_PROGRESS requires the member to rejoin. Version 3 adds static members; version 4 is
flexible.
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire_types import Int16, Int32, String


class HeartbeatRequest(Request, api_key=12, versions=(0, 4), flexible_since=4):
    """The member and its generation."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: String | None = field(since=3, default=None)


class HeartbeatResponse(Response, api_key=12, versions=(0, 4), flexible_since=4):
    """Success, or the error for an outdated member."""

    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    error_code: Int16

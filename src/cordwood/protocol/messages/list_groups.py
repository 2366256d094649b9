"""ListGroups: the groups that this broker coordinates.

Version 3 is flexible. Version 4 adds states and a filter for them; version 5 adds types (classic,
consumer, share, streams) and a filter. An empty filter matches every group.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String


class ListGroupsRequest(Request, api_key=16, versions=(0, 5), flexible_since=3):
    """The filters."""

    states_filter: list[String] = field(since=4, default=[])
    types_filter: list[String] = field(since=5, default=[])


class ListedGroup(Struct):
    """A group."""

    group_id: String
    protocol_type: String
    group_state: String = field(since=4, default="", ignorable=True)
    group_type: String = field(since=5, default="", ignorable=True)


class ListGroupsResponse(Response, api_key=16, versions=(0, 5), flexible_since=3):
    """The groups that match the filters."""

    throttle_time_ms: Int32 = field(since=1, default=0, ignorable=True)
    error_code: Int16
    groups: list[ListedGroup]

"""DeleteGroups: empty groups and their offsets, gone.

A group with members is NON_EMPTY_GROUP. Version 2 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, String


class DeleteGroupsRequest(Request, api_key=42, versions=(0, 2), flexible_since=2):
    """The groups to delete."""

    group_names: list[String] = field(name="GroupsNames")


class DeletableGroupResult(Struct):
    """What became of one group."""

    group_id: String
    error_code: Int16


class DeleteGroupsResponse(Response, api_key=42, versions=(0, 2), flexible_since=2):
    """How it went, group by group."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[DeletableGroupResult]

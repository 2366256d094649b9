"""DeleteGroups: deletes empty groups and their offsets.

A group with members gives NON_EMPTY_GROUP. Version 2 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, String


class DeleteGroupsRequest(Request, api_key=42, versions=(0, 2), flexible_since=2):
    """The groups to delete."""

    group_names: list[String] = field(name="GroupsNames")


class DeletableGroupResult(Struct):
    """Result of one group."""

    group_id: String
    error_code: Int16


class DeleteGroupsResponse(Response, api_key=42, versions=(0, 2), flexible_since=2):
    """Results by group."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[DeletableGroupResult]

"""DeleteAcls: deletes every ACL that matches one of the filters.

Filters are those of DescribeAcls. Version 2 is flexible; version 3 adds users as resources.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, String


class DeleteAclsFilter(Struct):
    """One filter."""

    resource_type_filter: Int8
    resource_name_filter: String | None
    pattern_type_filter: Int8 = field(default=3)
    principal_filter: String | None
    host_filter: String | None
    operation: Int8
    permission_type: Int8


class DeleteAclsRequest(Request, api_key=31, versions=(1, 3), flexible_since=2):
    """The filters."""

    filters: list[DeleteAclsFilter]


class DeleteAclsMatchingAcl(Struct):
    """An ACL that matched, and whether it could be deleted."""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = field(default=3)
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


class DeleteAclsFilterResult(Struct):
    """The ACLs that matched one filter."""

    error_code: Int16
    error_message: String | None
    matching_acls: list[DeleteAclsMatchingAcl]


class DeleteAclsResponse(Response, api_key=31, versions=(1, 3), flexible_since=2):
    """Results in the order of the filters."""

    throttle_time_ms: Int32 = field(default=0)
    filter_results: list[DeleteAclsFilterResult]

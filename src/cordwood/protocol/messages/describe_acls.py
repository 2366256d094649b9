"""DescribeAcls: the ACLs that match a filter.

In a filter, 1 matches any type, operation or permission; null matches any name, principal or host.
Pattern types: 2 match, 3 literal, 4 prefixed. Version 2 is flexible; version 3 adds users as
resources.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, String


class DescribeAclsRequest(Request, api_key=29, versions=(1, 3), flexible_since=2):
    """The filter."""

    resource_type_filter: Int8
    resource_name_filter: String | None
    pattern_type_filter: Int8 = field(default=3)
    principal_filter: String | None
    host_filter: String | None
    operation: Int8
    permission_type: Int8


class AclDescription(Struct):
    """One ACL."""

    principal: String
    host: String
    operation: Int8
    permission_type: Int8


class DescribeAclsResource(Struct):
    """The ACLs of one resource pattern."""

    resource_type: Int8
    resource_name: String
    pattern_type: Int8 = field(default=3)
    acls: list[AclDescription]


class DescribeAclsResponse(Response, api_key=29, versions=(1, 3), flexible_since=2):
    """The ACLs by resource."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None
    resources: list[DescribeAclsResource]

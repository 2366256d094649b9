"""CreateAcls: creates ACLs.

Version 2 is flexible; version 3 adds users as resources.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, String


class AclCreation(Struct):
    """One ACL with its resource pattern."""

    resource_type: Int8
    resource_name: String
    resource_pattern_type: Int8 = field(default=3)
    principal: String
    host: String
    operation: Int8
    permission_type: Int8


class CreateAclsRequest(Request, api_key=30, versions=(1, 3), flexible_since=2):
    """The ACLs to create."""

    creations: list[AclCreation]


class AclCreationResult(Struct):
    """Result of one ACL."""

    error_code: Int16
    error_message: String | None


class CreateAclsResponse(Response, api_key=30, versions=(1, 3), flexible_since=2):
    """Results in request order."""

    throttle_time_ms: Int32 = field(default=0)
    results: list[AclCreationResult]

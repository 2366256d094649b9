"""AlterConfigs: all settings of a resource at once; what is not named falls back to its default.

Clients that can use IncrementalAlterConfigs instead, which does not undo what others set. Version 2
is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bool, Int8, Int16, Int32, String


class AlterableConfig(Struct):
    """One setting."""

    name: String
    value: String | None


class AlterConfigsResource(Struct):
    """All that one resource is to have."""

    resource_type: Int8
    resource_name: String
    configs: list[AlterableConfig]


class AlterConfigsRequest(Request, api_key=33, versions=(0, 2), flexible_since=2):
    """The settings to have; `validate_only` stops short of setting them."""

    resources: list[AlterConfigsResource]
    validate_only: Bool


class AlterConfigsResourceResponse(Struct):
    """What became of one resource."""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


class AlterConfigsResponse(Response, api_key=33, versions=(0, 2), flexible_since=2):
    """How it went, resource by resource."""

    throttle_time_ms: Int32 = field(default=0)
    responses: list[AlterConfigsResourceResponse]

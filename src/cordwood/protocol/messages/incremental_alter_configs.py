"""IncrementalAlterConfigs: changes single settings and keeps the others.

Operations: 0 set, 1 delete (back to the default), 2 append to a list, 3 subtract from it. Version 1
is flexible.
"""

from cordwood.protocol.messages.alter_configs import AlterConfigsResourceResponse
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int32, String


class AlterableConfig(Struct):
    """One change; the value of a deletion is null."""

    name: String
    config_operation: Int8
    value: String | None


class AlterConfigsResource(Struct):
    """The changes to one resource."""

    resource_type: Int8
    resource_name: String
    configs: list[AlterableConfig]


class IncrementalAlterConfigsRequest(Request, api_key=44, versions=(0, 1), flexible_since=1):
    """The changes; with `validate_only`, they are only validated."""

    resources: list[AlterConfigsResource]
    validate_only: Bool


class IncrementalAlterConfigsResponse(Response, api_key=44, versions=(0, 1), flexible_since=1):
    """Results by resource."""

    throttle_time_ms: Int32 = field(default=0)
    responses: list[AlterConfigsResourceResponse]

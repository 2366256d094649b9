"""AlterConfigs: replaces all settings of a resource; omitted settings return to their defaults.

Clients prefer IncrementalAlterConfigs where supported, because it keeps settings of others. Version
2 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Int8, Int16, Int32, String


class AlterableConfig(Struct):
    """One setting."""

    name: String
    value: String | None


class AlterConfigsResource(Struct):
    """All settings of one resource."""

    resource_type: Int8
    resource_name: String
    configs: list[AlterableConfig]


class AlterConfigsRequest(Request, api_key=33, versions=(0, 2), flexible_since=2):
    """The new settings; with `validate_only`, they are only validated."""

    resources: list[AlterConfigsResource]
    validate_only: Bool


class AlterConfigsResourceResponse(Struct):
    """Result of one resource."""

    error_code: Int16
    error_message: String | None
    resource_type: Int8
    resource_name: String


class AlterConfigsResponse(Response, api_key=33, versions=(0, 2), flexible_since=2):
    """Results by resource."""

    throttle_time_ms: Int32 = field(default=0)
    responses: list[AlterConfigsResourceResponse]

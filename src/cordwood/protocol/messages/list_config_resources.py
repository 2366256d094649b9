"""ListConfigResources: the names of configuration resources.

Version 0 lists client metrics only. From version 1 on the request selects types; an empty list
selects all.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int8, Int16, Int32, String


class ListConfigResourcesRequest(Request, api_key=74, versions=(0, 1), flexible_since=0):
    """The types to list."""

    resource_types: list[Int8] = field(since=1, default=[])


class ConfigResource(Struct):
    """A resource; type 16 is client metrics."""

    resource_name: String
    resource_type: Int8 = field(since=1, default=16, ignorable=True)


class ListConfigResourcesResponse(Response, api_key=74, versions=(0, 1), flexible_since=0):
    """The resources."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    config_resources: list[ConfigResource]

"""DescribeClientQuotas: quotas of users, client ids and IP addresses.

Match types: 0 this name, 1 the default, 2 any name. Version 1 is flexible.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Float64, Int8, Int16, Int32, String


class ComponentData(Struct):
    """The filter for one entity type."""

    entity_type: String
    match_type: Int8
    match: String | None


class DescribeClientQuotasRequest(Request, api_key=48, versions=(0, 1), flexible_since=1):
    """The filter."""

    components: list[ComponentData]
    #: Whether entities with other parts than the components are excluded.
    strict: Bool


class EntityData(Struct):
    """One part of an entity: user, client-id or ip. A null name is the default."""

    entity_type: String
    entity_name: String | None


class ValueData(Struct):
    """One quota."""

    key: String
    value: Float64


class EntryData(Struct):
    """The quotas of one entity."""

    entity: list[EntityData]
    values: list[ValueData]


class DescribeClientQuotasResponse(Response, api_key=48, versions=(0, 1), flexible_since=1):
    """The quotas that matched."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None
    entries: list[EntryData] | None

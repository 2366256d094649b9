"""AlterClientQuotas: sets or removes quotas of users, client ids and IP addresses.

Version 1 is flexible.
"""

from cordwood.protocol.messages.describe_client_quotas import EntityData
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Bool, Float64, Int16, Int32, String


class OpData(Struct):
    """One quota to set or, with `remove`, to remove."""

    key: String
    value: Float64
    remove: Bool


class AlteredEntry(Struct):
    """The changes for one entity."""

    entity: list[EntityData]
    ops: list[OpData]


class AlterClientQuotasRequest(Request, api_key=49, versions=(0, 1), flexible_since=1):
    """The changes; with `validate_only`, they are only validated."""

    entries: list[AlteredEntry]
    validate_only: Bool


class AlteredEntryResult(Struct):
    """Result of one entity."""

    error_code: Int16
    error_message: String | None
    entity: list[EntityData]


class AlterClientQuotasResponse(Response, api_key=49, versions=(0, 1), flexible_since=1):
    """Results by entity."""

    throttle_time_ms: Int32 = field(default=0)
    entries: list[AlteredEntryResult]

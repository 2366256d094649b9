"""AlterClientQuotas: limits of users, client ids and addresses, set or removed.

Version 1 is flexible.
"""

from cordwood.protocol.messages.describe_client_quotas import EntityData
from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Bool, Float64, Int16, Int32, String


class OpData(Struct):
    """One limit to set or, with `remove`, to lift."""

    key: String
    value: Float64
    remove: Bool


class AlteredEntry(Struct):
    """The changes for one entity."""

    entity: list[EntityData]
    ops: list[OpData]


class AlterClientQuotasRequest(Request, api_key=49, versions=(0, 1), flexible_since=1):
    """The changes; `validate_only` stops short of making them."""

    entries: list[AlteredEntry]
    validate_only: Bool


class AlteredEntryResult(Struct):
    """What became of one entity."""

    error_code: Int16
    error_message: String | None
    entity: list[EntityData]


class AlterClientQuotasResponse(Response, api_key=49, versions=(0, 1), flexible_since=1):
    """How it went, entity by entity."""

    throttle_time_ms: Int32 = field(default=0)
    entries: list[AlteredEntryResult]

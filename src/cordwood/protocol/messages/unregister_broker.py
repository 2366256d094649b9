"""UnregisterBroker: removes a broker that will not return from the cluster."""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire_types import Int16, Int32, String


class UnregisterBrokerRequest(Request, api_key=64, versions=(0, 0), flexible_since=0):
    """The broker."""

    broker_id: Int32


class UnregisterBrokerResponse(Response, api_key=64, versions=(0, 0), flexible_since=0):
    """Success or error."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    error_message: String | None

"""AllocateProducerIds: a broker's request to the controller for a block of producer ids.

Between brokers; the same in Kafka 3.9 and 4.3.
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire_types import Int16, Int32, Int64


class AllocateProducerIdsRequest(Request, api_key=67, versions=(0, 0), flexible_since=0):
    """The broker that needs producer ids."""

    broker_id: Int32
    broker_epoch: Int64 = field(default=-1)


class AllocateProducerIdsResponse(Response, api_key=67, versions=(0, 0), flexible_since=0):
    """The block: its first id and its length."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    producer_id_start: Int64
    producer_id_len: Int32

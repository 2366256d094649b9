"""InitProducerId: allocates a producer id, and aborts a transactional id's open transaction.

Kafka's version 6, for two-phase commit, is unstable and not declared.

    v2  flexible
    v3  a producer may send its id and epoch to get a higher epoch
    v4  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
    v5  TRANSACTION_ABORTABLE may be returned
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class InitProducerIdRequest(Request, api_key=22, versions=(0, 5), flexible_since=2):
    """The producer; a null transactional id requests idempotence alone."""

    transactional_id: String | None
    #: Timeout of an open transaction without updates of its producer.
    transaction_timeout_ms: Int32
    producer_id: Int64 = field(since=3, default=-1)
    producer_epoch: Int16 = field(since=3, default=-1)


class InitProducerIdResponse(Response, api_key=22, versions=(0, 5), flexible_since=2):
    """The producer id and epoch."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    producer_id: Int64 = field(default=-1)
    producer_epoch: Int16

"""InitProducerId: an id for a producer that is idempotent; one that is transactional also has ended
whatever it left open.

Kafka has a version 6 for two-phase commit, which is not stable and not declared.

    v2  flexible
    v3  a producer may name the id and epoch it has, to have the epoch raised
    v4  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
    v5  TRANSACTION_ABORTABLE may be answered
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire import Int16, Int32, Int64, String


class InitProducerIdRequest(Request, api_key=22, versions=(0, 5), flexible_since=2):
    """Who asks: a null transactional id is a producer that is idempotent alone."""

    transactional_id: String | None
    #: How long a transaction may stay open without a word from its producer.
    transaction_timeout_ms: Int32
    producer_id: Int64 = field(since=3, default=-1)
    producer_epoch: Int16 = field(since=3, default=-1)


class InitProducerIdResponse(Response, api_key=22, versions=(0, 5), flexible_since=2):
    """The id and epoch to write with."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    producer_id: Int64 = field(default=-1)
    producer_epoch: Int16

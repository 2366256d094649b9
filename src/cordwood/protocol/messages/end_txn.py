"""EndTxn: commit or abort.

v2  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
v3  flexible
v4  TRANSACTION_ABORTABLE may be answered
v5  every transaction ends with an epoch of its own: the answer brings the id and epoch to go
    on with, where transaction.version 2 is finalized
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire import Bool, Int16, Int32, Int64, String


class EndTxnRequest(Request, api_key=26, versions=(0, 5), flexible_since=3):
    """Which transaction, and how it ends."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    committed: Bool


class EndTxnResponse(Response, api_key=26, versions=(0, 5), flexible_since=3):
    """Whether it is decided; the markers may still be on their way."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    producer_id: Int64 = field(since=5, default=-1, ignorable=True)
    producer_epoch: Int16 = field(since=5, default=-1, ignorable=True)

"""EndTxn: commits or aborts a transaction.

Changes by version:

    v2  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
    v3  flexible
    v4  TRANSACTION_ABORTABLE may be returned
    v5  with transaction.version 2, every transaction ends with a new epoch: the response
        contains the producer id and epoch for the next one
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire_types import Bool, Int16, Int32, Int64, String


class EndTxnRequest(Request, api_key=26, versions=(0, 5), flexible_since=3):
    """The transaction and its result."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    committed: Bool


class EndTxnResponse(Response, api_key=26, versions=(0, 5), flexible_since=3):
    """Success once the result is decided; markers may still have to be written."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    producer_id: Int64 = field(since=5, default=-1, ignorable=True)
    producer_epoch: Int16 = field(since=5, default=-1, ignorable=True)

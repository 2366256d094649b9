"""AddOffsetsToTxn: a group whose offsets a transaction is going to commit.

Version 2 says PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH, version 3 is flexible, from
version 4 on TRANSACTION_ABORTABLE may be answered.
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire import Int16, Int32, Int64, String


class AddOffsetsToTxnRequest(Request, api_key=25, versions=(0, 4), flexible_since=3):
    """Whose transaction, and which group."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    group_id: String


class AddOffsetsToTxnResponse(Response, api_key=25, versions=(0, 4), flexible_since=3):
    """Whether it may."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16

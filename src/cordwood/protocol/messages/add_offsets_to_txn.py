"""AddOffsetsToTxn: adds a group to a transaction that will commit the group's offsets.

Changes by version:

    v2  PRODUCER_FENCED instead of INVALID_PRODUCER_EPOCH
    v3  flexible
    v4  TRANSACTION_ABORTABLE may be returned
"""

from cordwood.protocol.schema import Request, Response, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class AddOffsetsToTxnRequest(Request, api_key=25, versions=(0, 4), flexible_since=3):
    """The transaction and the group."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    group_id: String


class AddOffsetsToTxnResponse(Response, api_key=25, versions=(0, 4), flexible_since=3):
    """Success or error."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16

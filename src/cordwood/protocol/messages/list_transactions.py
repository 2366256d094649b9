"""ListTransactions: the transactions that this broker coordinates.

An empty filter matches every transaction. Version 1 adds a filter for the duration, version 2 one
for ids by a regular expression.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class ListTransactionsRequest(Request, api_key=66, versions=(0, 2), flexible_since=0):
    """The filters."""

    state_filters: list[String]
    producer_id_filters: list[Int64]
    #: Minimum duration of a transaction in milliseconds; -1 for any.
    duration_filter: Int64 = field(since=1, default=-1)
    transactional_id_pattern: String | None = field(since=2, default=None)


class TransactionState(Struct):
    """A transactional id and its state."""

    transactional_id: String
    producer_id: Int64
    transaction_state: String


class ListTransactionsResponse(Response, api_key=66, versions=(0, 2), flexible_since=0):
    """The transactions that match the filters, and the unknown states in the state filter."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    unknown_state_filters: list[String]
    transaction_states: list[TransactionState]

"""ListTransactions: the transactions that this broker coordinates.

An empty filter lets everything through. Version 1 can ask for those that have been open for long,
version 2 for ids that match a regular expression.
"""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire import Int16, Int32, Int64, String


class ListTransactionsRequest(Request, api_key=66, versions=(0, 2), flexible_since=0):
    """What to list."""

    state_filters: list[String]
    producer_id_filters: list[Int64]
    #: Milliseconds that a transaction has been open at least; -1 for any.
    duration_filter: Int64 = field(since=1, default=-1)
    transactional_id_pattern: String | None = field(since=2, default=None)


class TransactionState(Struct):
    """A transactional id and where it stands."""

    transactional_id: String
    producer_id: Int64
    transaction_state: String


class ListTransactionsResponse(Response, api_key=66, versions=(0, 2), flexible_since=0):
    """The transactions that passed the filters, and the states that no transaction can have."""

    throttle_time_ms: Int32 = field(default=0)
    error_code: Int16
    unknown_state_filters: list[String]
    transaction_states: list[TransactionState]

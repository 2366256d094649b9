"""DescribeTransactions: the state of transactions, from their coordinator."""

from cordwood.protocol.schema import Request, Response, Struct, field
from cordwood.protocol.wire_types import Int16, Int32, Int64, String


class DescribeTransactionsRequest(Request, api_key=65, versions=(0, 0), flexible_since=0):
    """The transactional ids to describe."""

    transactional_ids: list[String]


class TopicData(Struct):
    """Partitions of one topic in the transaction."""

    topic: String
    partitions: list[Int32]


class TransactionState(Struct):
    """One transactional id and its state.

    The state is Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead or
    PrepareEpochFence.
    """

    error_code: Int16
    transactional_id: String
    transaction_state: String
    transaction_timeout_ms: Int32
    #: -1 before the first transaction.
    transaction_start_time_ms: Int64
    producer_id: Int64
    producer_epoch: Int16
    topics: list[TopicData]


class DescribeTransactionsResponse(Response, api_key=65, versions=(0, 0), flexible_since=0):
    """The transactions by transactional id."""

    throttle_time_ms: Int32 = field(default=0)
    transaction_states: list[TransactionState]

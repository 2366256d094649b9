"""Responses that describe and list transactions (Kafka: `handleDescribeTransactions`, KIP-664).

Topics that the client may not describe are left out by the caller, which knows its rights.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from cordwood.coordination.transactions.transaction_log import topics_of_partitions
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_state import (
    STATES_BY_NAME,
    TransactionState,
)
from cordwood.core.errors import InvalidRequestError, TransactionalIdNotFoundError
from cordwood.protocol.messages import describe_transactions, list_transactions
from cordwood.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)


def describe_transaction(
    transactional_id: str, metadata: TransactionMetadata | None
) -> describe_transactions.TransactionState:
    """Return the description of one id; the error is in it."""
    if not transactional_id:
        return describe_error(transactional_id, code=InvalidRequestError.code)
    if metadata is None or metadata.state is TransactionState.DEAD:
        return describe_error(transactional_id, code=TransactionalIdNotFoundError.code)
    return describe_transactions.TransactionState(
        error_code=0,
        transactional_id=transactional_id,
        transaction_state=metadata.state.kafka_name,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[
            describe_transactions.TopicData(topic=topic, partitions=numbers)
            for topic, numbers in topics_of_partitions(metadata.partitions)
        ],
    )


def describe_error(transactional_id: str, *, code: int) -> describe_transactions.TransactionState:
    """Return the description of an id that has only an error."""
    return describe_transactions.TransactionState(
        error_code=code,
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=[],
    )


class ListFilters(NamedTuple):
    """The filters of a ListTransactions request; an empty one matches every transaction."""

    states: frozenset[TransactionState]
    unknown_states: tuple[str, ...]
    has_states: bool
    producer_ids: frozenset[int]
    duration_ms: int
    matches_id: Callable[[str], bool] | None

    @classmethod
    def of(
        cls, request: ListTransactionsRequest, *, matches_id: Callable[[str], bool] | None = None
    ) -> Self:
        """Read the filters; `matches_id` is the compiled pattern of the request, if it has one."""
        names = dict.fromkeys(request.state_filters)
        return cls(
            states=frozenset(STATES_BY_NAME[each] for each in names if each in STATES_BY_NAME),
            unknown_states=tuple(each for each in names if each not in STATES_BY_NAME),
            has_states=bool(names),
            producer_ids=frozenset(request.producer_id_filters),
            duration_ms=request.duration_filter,
            matches_id=matches_id,
        )

    def match(self, metadata: TransactionMetadata, now_ms: int) -> bool:
        """Return whether a transaction is listed. As in Kafka, -1 is a start long ago."""
        if metadata.state is TransactionState.DEAD:
            return False
        return (
            (not self.producer_ids or metadata.producer_id in self.producer_ids)
            and (not self.has_states or metadata.state in self.states)
            and (self.duration_ms < 0 or now_ms - metadata.start_ms > self.duration_ms)
            and (self.matches_id is None or self.matches_id(metadata.transactional_id))
        )


class TransactionPage(NamedTuple):
    """Some ids of a partition: a list of many is answered in parts."""

    filters: ListFilters
    transactional_ids: Iterable[str]


def list_matching(
    transactions: Iterable[TransactionMetadata], filters: ListFilters, *, now_ms: int
) -> ListTransactionsResponse:
    """Return the transactions that match all filters, and the unknown states in the filter."""
    return ListTransactionsResponse(
        error_code=0,
        unknown_state_filters=list(filters.unknown_states),
        transaction_states=[
            list_transactions.TransactionState(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=each.state.kafka_name,
            )
            for each in transactions
            if filters.match(each, now_ms)
        ],
    )

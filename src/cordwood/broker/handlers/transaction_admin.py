"""Handlers of requests of administrators about transactions (KIP-664).

WriteTxnMarkers        ends a transaction in given partitions, for its coordinator or by hand
DescribeTransactions   the state of transactional ids
ListTransactions       all transactional ids that this broker coordinates
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from cordwood.broker.handlers.request_client import client_of
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.pending_results import wait_for
from cordwood.broker.services import BrokerServices
from cordwood.coordination.groups.consumer.topics.topic_pattern import TopicPattern
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.transactions.transaction_listing import ListFilters, TransactionPage
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.core.errors import KafkaError, NotCoordinatorError
from cordwood.core.ports import Pending
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from cordwood.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from cordwood.protocol.messages.list_transactions import (
    TransactionState as ListedTransaction,
)
from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

#: Transactional ids that are listed in one event of a shard, also with a costly pattern.
MOST_LISTED: Final = 200


async def write_txn_markers(
    broker: BrokerServices, _: RequestContext, request: WriteTxnMarkersRequest
) -> WriteTxnMarkersResponse:
    """Append markers to partitions that this broker leads.

    All are appended before the first one is waited for: they count with one fetch of the followers.
    """
    turns = LoopTurns(broker.turns)
    appended = [
        (each.producer_id, await _appended(broker, each, turns))
        async for each in turns.of(request.markers)
    ]
    return WriteTxnMarkersResponse(
        markers=[
            WritableTxnMarkerResult(
                producer_id=producer_id,
                topics=[await _results(topic, some, turns) for topic, some in topics],
            )
            for producer_id, topics in appended
        ]
    )


class _AppendedMarker(NamedTuple):
    """A marker in one partition, or the error instead of it."""

    number: int
    pending: Pending[int] | KafkaError

    async def result(self) -> WritableTxnMarkerPartitionResult:
        """Wait until the marker counts."""
        code = 0
        if isinstance(self.pending, KafkaError):
            code = self.pending.code
        else:
            try:
                await wait_for(self.pending)
            except KafkaError as error:
                code = error.code
        return WritableTxnMarkerPartitionResult(partition_index=self.number, error_code=code)


async def _results(
    topic: str, appended: Iterable[_AppendedMarker], turns: LoopTurns
) -> WritableTxnMarkerTopicResult:
    """Wait until the markers of a topic count; return their results."""
    results = [await each.result() async for each in turns.of(appended)]
    return WritableTxnMarkerTopicResult(name=topic, partitions=results)


async def _appended(
    broker: BrokerServices, wanted: WritableTxnMarker, turns: LoopTurns
) -> list[tuple[str, list[_AppendedMarker]]]:
    """Append one marker to all its partitions; return them by topic."""
    marker = TransactionMarker(
        wanted.producer_id,
        wanted.producer_epoch,
        wanted.coordinator_epoch,
        wanted.transaction_result,
        frozenset(),
        wanted.transaction_version,
    )
    return [
        (
            topic.name,
            [
                _AppendedMarker(number, _begin(broker, _named(topic.name, number), marker))
                async for number in turns.of(topic.partition_indexes)
            ],
        )
        for topic in wanted.topics
    ]


def _named(topic: str, number: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


def _begin(
    broker: BrokerServices, name: TopicPartition, marker: TransactionMarker
) -> Pending[int] | KafkaError:
    try:
        return broker.coordinators.markers.write(name, marker)
    except KafkaError as error:
        return error.with_traceback(None)


async def describe_transactions(
    broker: BrokerServices, context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    """Describe transactional ids, each once; an id without a transaction has an error."""
    turns = LoopTurns(broker.turns)
    return DescribeTransactionsResponse(
        transaction_states=[
            await _described(broker, context, transactional_id)
            async for transactional_id in turns.of(dict.fromkeys(request.transactional_ids))
        ]
    )


async def _described(
    broker: BrokerServices, context: RequestContext, transactional_id: str
) -> TransactionState:
    one = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    client = client_of(context)
    try:
        response = await broker.coordinators.transactions.call(
            transactional_id,
            lambda shard, ticket, now_ms: shard.describe_transactions(
                one, client, ticket=ticket, now_ms=now_ms
            ),
            answer=DescribeTransactionsResponse,
        )
    except KafkaError as error:
        return TransactionState(
            error_code=error.code,
            transactional_id=transactional_id,
            transaction_state="",
            transaction_timeout_ms=0,
            transaction_start_time_ms=0,
            producer_id=0,
            producer_epoch=0,
            topics=[],
        )
    return response.transaction_states[0]


async def list_transactions(
    broker: BrokerServices, context: RequestContext, request: ListTransactionsRequest
) -> ListTransactionsResponse:
    """List the transactional ids of all partitions that this broker coordinates.

    A partition that moves to another broker meanwhile is listed there.
    """
    runtime, turns = broker.coordinators.transactions.runtime, LoopTurns(broker.turns)
    try:
        matches = _pattern(request.transactional_id_pattern)
        filters = ListFilters.of(request, matches_id=matches)
        listed = ListTransactionsResponse(
            error_code=0,
            unknown_state_filters=[*filters.unknown_states],
            transaction_states=[],
        )
        async for partition in turns.of([*runtime.partitions()]):
            part = partition, filters
            listed.transaction_states += await _listed(broker, context, request, part, turns=turns)
    except KafkaError as error:
        return ListTransactionsResponse(
            error_code=error.code, unknown_state_filters=[], transaction_states=[]
        )
    return listed


async def _listed(
    broker: BrokerServices,
    context: RequestContext,
    request: ListTransactionsRequest,
    part: tuple[int, ListFilters],
    *,
    turns: LoopTurns,
) -> list[ListedTransaction]:
    """Return the ids of a partition that match; none if it moves to another broker meanwhile."""
    (partition, filters), found = part, list[ListedTransaction]()
    runtime = broker.coordinators.transactions.runtime
    try:
        ids = await runtime.read(partition, TransactionShard.transactional_ids)
        async for at in turns.of(range(0, len(ids), MOST_LISTED)):
            page = TransactionPage(filters, ids[at : at + MOST_LISTED])
            found += await _listed_page(broker, context, request, (partition, page))
    except NotCoordinatorError:
        return []
    return found


async def _listed_page(
    broker: BrokerServices,
    context: RequestContext,
    request: ListTransactionsRequest,
    listed: tuple[int, TransactionPage],
) -> list[ListedTransaction]:
    """Return the ids of a page of a partition that match."""
    (partition, page), client = listed, client_of(context)
    response = await broker.coordinators.transactions.runtime.call(
        partition,
        lambda shard, ticket, now_ms: shard.list_transactions(
            request, client, ticket=ticket, now_ms=now_ms, page=page
        ),
        answer=ListTransactionsResponse,
    )
    return response.transaction_states


def _pattern(pattern: str | None) -> Callable[[str], bool] | None:
    """Return the match of a pattern with a whole id; raise InvalidRegularExpressionError."""
    return None if not pattern else TopicPattern(pattern).matches

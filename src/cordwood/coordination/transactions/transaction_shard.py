"""One partition of `__transaction_state` (Kafka: `TransactionCoordinator`).

    request ──► rules ──► Prepare ──► replayed ──► counts: answer, ──► complete_ ──► Complete
                          record                   markers             markers       record

A decided transition is pending until its record is replayed, and so is a prepared transaction until
it is complete; requests that would change it get CONCURRENT_TRANSACTIONS. The end of a transaction
is decided by its Prepare record. A loaded shard resumes the markers of each such record, with its
own coordinator epoch and with the producer epoch of the record.

A method returns a `TransactionOutcome`. Its `on_failure` takes the error in the form for clients.
The handlers check rights and topics, and divide requests with ids of several partitions. They also
answer InitProducerId without a transactional id, which needs no coordinator.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import StoredMarker, StoredRecord
from cordwood.coordination.key_partition import partition_for
from cordwood.coordination.outcome import Answer, Outcome, Ticket, TimerKey
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.topic_view import TopicView
from cordwood.coordination.transactions import transaction_listing
from cordwood.coordination.transactions.add_partitions import TransactionPartitions
from cordwood.coordination.transactions.client_errors import (
    init_producer_id_error,
    transaction_error,
)
from cordwood.coordination.transactions.end_transaction import (
    EndStep,
    TransactionEnd,
    decide_end,
    prepare_end,
    prepare_fenced_abort,
)
from cordwood.coordination.transactions.init_producer_id import (
    InitProducer,
    prepare_init,
    read_init_request,
    validate_init,
)
from cordwood.coordination.transactions.transaction_additions import (
    CodesLater,
    TransactionAdditions,
)
from cordwood.coordination.transactions.transaction_appends import (
    LIGHT_PARTITIONS,
    TransactionAppends,
)
from cordwood.coordination.transactions.transaction_listing import ListFilters, TransactionPage
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import (
    ProducerIdRequest,
    TransactionOutcome,
)
from cordwood.coordination.transactions.transaction_registry import TransactionRegistry
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.coordination.transactions.transaction_timers import TransactionTimers
from cordwood.coordination.transactions.transaction_version import (
    end_txn_level,
    supports_epoch_bump,
)
from cordwood.core.errors import ConcurrentTransactionsError, InvalidRequestError, KafkaError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from cordwood.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from cordwood.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.list_transactions import ListTransactionsRequest
from cordwood.protocol.schema import Response

OFFSETS_TOPIC: Final = TopicName("__consumer_offsets")


class _Asked(NamedTuple):
    """A request that waits for its answer, possibly for a producer id before that."""

    ticket: Ticket
    api_version: int

    def answer(self, response: Response | KafkaError) -> TransactionOutcome:
        return TransactionOutcome.answer(self.ticket, response)

    def with_producer_id(
        self, call: Callable[[int, int], TransactionOutcome]
    ) -> TransactionOutcome:
        """Continue with a new producer id; its error is the answer."""
        request = ProducerIdRequest(call, lambda error, _: self.answer(error))
        return TransactionOutcome(producer_id_requests=[request])


class TransactionShard:
    """The transactional ids of one partition."""

    def __init__(
        self, settings: TransactionSettings | None = None, *, coordinator_epoch: int = 0
    ) -> None:
        self._appends = TransactionAppends(settings or TransactionSettings(), coordinator_epoch)
        self._additions = TransactionAdditions(self._appends)
        self._timers = TransactionTimers(self._appends)

    # -- state

    @property
    def transactions(self) -> TransactionRegistry:
        """The metadata by transactional id."""
        return self._appends.registry

    @property
    def settings(self) -> TransactionSettings:
        """The settings, which may be replaced at any time."""
        return self._appends.settings

    @settings.setter
    def settings(self, settings: TransactionSettings) -> None:
        self._appends.settings = settings

    @property
    def coordinator_epoch(self) -> int:
        """The leader epoch of the partition; it is set before the load ends."""
        return self._appends.coordinator_epoch

    @coordinator_epoch.setter
    def coordinator_epoch(self, epoch: int) -> None:
        self._appends.coordinator_epoch = epoch

    # -- requests

    def init_producer_id(
        self, request: InitProducerIdRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> TransactionOutcome:
        """Begin a producer with a new epoch; an ongoing transaction of the id is aborted first."""
        try:
            init = read_init_request(request, max_timeout_ms=self.settings.max_timeout_ms)
        except KafkaError as error:
            return TransactionOutcome.answer(ticket, error)
        asked = _Asked(ticket, client.api_version)
        return self._init(init, asked, producer_id=None, now_ms=now_ms)

    def add_partitions(  # tidy: allow[parameters] `later` is not in the request
        self,
        request: AddPartitionsToTxnRequest,
        client: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
        later: CodesLater | None = None,
    ) -> TransactionOutcome:
        """Add partitions to transactions, or verify that they are in them; `later` as in `add`."""
        return self._additions.add(request, client, ticket=ticket, now_ms=now_ms, later=later)

    def add_offsets(  # tidy: allow[parameters] the partition count is not in the request
        self,
        request: AddOffsetsToTxnRequest,
        client: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
        offsets_partitions: int,
    ) -> TransactionOutcome:
        """Add the partition of `__consumer_offsets` that has the offsets of a group."""
        number = PartitionId(partition_for(request.group_id, offsets_partitions))
        added = TransactionPartitions(
            request.transactional_id,
            request.producer_id,
            request.producer_epoch,
            frozenset({TopicPartition(OFFSETS_TOPIC, number)}),
        )
        return self._additions.add_offsets(added, client, ticket=ticket, now_ms=now_ms)

    def end_transaction(
        self, request: EndTxnRequest, client: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> TransactionOutcome:
        """Commit or abort a transaction; the answer is given before its markers are written."""
        if not request.transactional_id:
            error = InvalidRequestError("the transactional id is empty")
            return TransactionOutcome.answer(ticket, error)
        asked = _Asked(ticket, client.api_version)
        return self._end(request, asked, producer_id=None, now_ms=now_ms)

    def describe_transactions(
        self, request: DescribeTransactionsRequest, _: ClientContext, *, ticket: Ticket, now_ms: int
    ) -> TransactionOutcome:
        """Describe ids of this partition, with all topics of their transactions."""
        del now_ms
        found = [(each, self.transactions.get(each)) for each in request.transactional_ids]

        def describe() -> TransactionOutcome:
            states = [transaction_listing.describe_transaction(*each) for each in found]
            response = DescribeTransactionsResponse(transaction_states=states)
            return TransactionOutcome.answer(ticket, response)

        partitions = sum(len(each.partitions) for _, each in found if each is not None)
        return TransactionOutcome(rest=describe) if partitions > LIGHT_PARTITIONS else describe()

    def transactional_ids(self) -> list[str]:
        """Return the ids of this partition."""
        return [each.transactional_id for each in self.transactions]

    def list_transactions(  # tidy: allow[parameters] the page is not in the request
        self,
        request: ListTransactionsRequest,
        _: ClientContext,
        *,
        ticket: Ticket,
        now_ms: int,
        page: TransactionPage | None = None,
    ) -> TransactionOutcome:
        """List the ids that match the filters, all or those of a page."""
        if page is None:
            page = TransactionPage(ListFilters.of(request), self.transactional_ids())
        found = map(self.transactions.get, page.transactional_ids)
        response = transaction_listing.list_matching(
            (each for each in found if each is not None), page.filters, now_ms=now_ms
        )
        return TransactionOutcome.answer(ticket, response)

    # -- events

    def complete_markers(
        self, transactional_id: str, marker: TransactionMarker, *, now_ms: int
    ) -> TransactionOutcome:
        """Complete a transaction whose markers are all written.

        An event of another coordinator epoch, or of an earlier transaction, changes nothing.
        """
        metadata = self.transactions.get(transactional_id)
        if metadata is None or not metadata.state.is_prepared:
            return TransactionOutcome()
        _, current = self._appends.completion_of(metadata)
        if marker._replace(partitions=current.partitions) != current:
            return TransactionOutcome()
        return self._timers.complete(transactional_id, now_ms)

    def replay(self, stored: StoredRecord) -> None:
        """Change the state by a record that the log has."""
        self.transactions.replay(stored.record)

    def replay_marker(self, stored: StoredMarker) -> None:
        """Ignore the end of a transaction: no producer writes into `__transaction_state`."""

    def finish_load(self, now_ms: int) -> TransactionOutcome:
        """Return the timers, and the markers of all transactions whose end is decided."""
        return TransactionOutcome(
            timers=self._timers.start(now_ms),
            completions=[
                self._appends.completion_of(each)
                for each in self.transactions
                if each.state.is_prepared
            ],
        )

    def on_timer(self, key: TimerKey, now_ms: int) -> TransactionOutcome:
        """Return the outcome of a timer that is due."""
        return self._timers.fire(key, now_ms)

    def on_topics(self, view: TopicView, now_ms: int) -> Outcome:
        """Ignore a change of topics: a transaction keeps its partitions."""
        del view, now_ms
        return TransactionOutcome()

    def close(self, error: KafkaError) -> Outcome:
        """Forget what is pending; no request waits in a shard of transactions."""
        del error
        self.transactions.forget_pending()
        return TransactionOutcome()

    # -- steps that may need a producer id

    def _init(
        self, init: InitProducer, asked: _Asked, *, producer_id: int | None, now_ms: int
    ) -> TransactionOutcome:
        registry = self.transactions
        metadata = registry.get(init.transactional_id)
        is_pending = registry.is_pending(init.transactional_id)
        try:
            validate_init(metadata, init, is_pending=is_pending)
            is_ongoing = metadata is not None and metadata.state is TransactionState.ONGOING
            if metadata is not None and is_ongoing:
                level = self.settings.transaction_version
                after = prepare_fenced_abort(
                    metadata, level=level, producer_id=producer_id, now_ms=now_ms
                )
            else:
                after = prepare_init(metadata, init, producer_id=producer_id, now_ms=now_ms)
        except KafkaError as error:
            return asked.answer(init_producer_id_error(error, asked.api_version))
        if after is None:
            return asked.with_producer_id(
                lambda given, at_ms: self._init(init, asked, producer_id=given, now_ms=at_ms)
            )
        answer = _aborted_first() if is_ongoing else _initialized(after)
        return self._appends.append([after], Answer(asked.ticket, answer))

    def _end(
        self, request: EndTxnRequest, asked: _Asked, *, producer_id: int | None, now_ms: int
    ) -> TransactionOutcome:
        end = TransactionEnd(
            request.producer_id,
            request.producer_epoch,
            request.committed,
            end_txn_level(asked.api_version),
        )
        registry = self.transactions
        metadata = registry.get(request.transactional_id)
        is_pending = registry.is_pending(request.transactional_id)
        try:
            step = decide_end(metadata, end, is_pending=is_pending)
        except KafkaError as error:
            return asked.answer(transaction_error(error, asked.api_version))
        assert metadata is not None, "its absence is an error"
        if step is EndStep.REPEATED:
            return asked.answer(_ended(metadata, end))
        after = prepare_end(metadata, end, producer_id=producer_id, now_ms=now_ms)
        if after is None:
            return asked.with_producer_id(
                lambda given, at_ms: self._end(request, asked, producer_id=given, now_ms=at_ms)
            )
        return self._appends.append([after], Answer(asked.ticket, _ended(after, end)))


def _aborted_first() -> KafkaError:
    return ConcurrentTransactionsError("the transaction of the last producer is aborted first")


def _initialized(metadata: TransactionMetadata) -> InitProducerIdResponse:
    return InitProducerIdResponse(
        error_code=0, producer_id=metadata.producer_id, producer_epoch=metadata.producer_epoch
    )


def _ended(metadata: TransactionMetadata, end: TransactionEnd) -> EndTxnResponse:
    """Return the response, in version 5 with the producer of the next transaction."""
    if not supports_epoch_bump(end.client_version):
        return EndTxnResponse(error_code=0)
    producer_id, producer_epoch = metadata.next_producer
    return EndTxnResponse(error_code=0, producer_id=producer_id, producer_epoch=producer_epoch)

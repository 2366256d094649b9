"""A transaction shard with the log, the producer ids and the timers that its runtime would have."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.coordinator_record import StoredRecord, decode_record, encode_record
from cordwood.coordination.outcome import CoordinatorEvent, Outcome, Ticket, TimerKey
from cordwood.coordination.transactions.transaction_log import transaction_record
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import (
    PendingCompleteTxn,
    TransactionOutcome,
)
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.coordination.transactions.transaction_version import record_version
from cordwood.core.errors import KafkaError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from cordwood.protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.internal import TRANSACTION_RECORDS
from cordwood.protocol.schema import Response

NOW: Final = 1_000_000
ID: Final = "payments"
TIMEOUT_MS: Final = 60_000
NO_PRODUCER: Final = (-1, -1)


def tp(text: str) -> TopicPartition:
    """Return a partition from `topic-number`."""
    topic, _, number = text.rpartition("-")
    return TopicPartition(TopicName(topic), PartitionId(int(number)))


ORDERS: Final = tp("orders-0")
BILLS: Final = tp("bills-1")


def metadata(
    state: TransactionState = TransactionState.EMPTY, producer: tuple[int, int] = (7, 5)
) -> TransactionMetadata:
    """Return metadata whose last transition was a second ago; an open one has one partition."""
    is_open = state is TransactionState.ONGOING or state.is_prepared
    return TransactionMetadata(
        ID,
        producer[0],
        TIMEOUT_MS,
        NOW - 1_000,
        producer_epoch=producer[1],
        previous_producer_id=producer[0],
        state=state,
        partitions=frozenset({ORDERS}) if is_open else frozenset(),
        start_ms=-1 if state is TransactionState.EMPTY else NOW - 2_000,
    )


class Producer(NamedTuple):
    """A code, and the producer of a response; -1 without one."""

    code: int
    producer_id: int = -1
    producer_epoch: int = -1


class TransactionHarness:
    """A shard whose appends count at once, unless `rejection` is set."""

    def __init__(self, settings: TransactionSettings | None = None) -> None:
        self.settings = settings or TransactionSettings()
        self.now_ms = NOW
        self.next_producer_id = 0
        self.coordinator_epoch = 3
        self.allocation_error: KafkaError | None = None
        self.rejection: KafkaError | None = None
        self.log: list[tuple[bytes, bytes | None]] = []
        self.markers: list[PendingCompleteTxn] = []
        self.events = Counter[CoordinatorEvent]()
        self.timers: dict[TimerKey, int] = {}
        self._answers: dict[Ticket, Response | KafkaError] = {}
        self._tickets = 0
        self.shard = self._loaded()

    # -- the runtime

    def perform(self, outcome: Outcome) -> None:
        """Append and replay the records, then give answers, timers and markers."""
        if outcome.records and self.rejection is not None:
            assert outcome.on_failure is not None
            for answer in outcome.answers:
                self._answers[answer.ticket] = self.rejection
            self.perform(outcome.on_failure(self.rejection, self.now_ms))
            return
        for record in outcome.records:
            self.log.append(encode_record(record))
            self._replay(self.shard, len(self.log) - 1)
        self._answers.update((each.ticket, each.response) for each in outcome.answers)
        for timer in outcome.timers:
            self.timers.pop(timer.key, None)
            if timer.at_ms is not None:
                self.timers[timer.key] = timer.at_ms
        for each in outcome.events:
            self.events[each.event] += each.number
        assert isinstance(outcome, TransactionOutcome)
        self.markers += outcome.completions
        for request in outcome.producer_id_requests:
            if self.allocation_error is not None:
                self.perform(request.failed(self.allocation_error, self.now_ms))
            else:
                self.next_producer_id += 1
                self.perform(request.allocated(self.next_producer_id - 1, self.now_ms))

    def answer(self, call: Callable[[Ticket], Outcome]) -> Response | KafkaError:
        """Perform a request, and return its answer."""
        self._tickets += 1
        ticket = Ticket(self._tickets)
        self.perform(call(ticket))
        return self._answers.pop(ticket)

    def reload(self) -> None:
        """Load the shard from its log again, as the coordinator of the next epoch."""
        self.markers.clear()
        self.timers.clear()
        self.coordinator_epoch += 1
        self.shard = self._loaded()

    def complete(self, transactional_id: str = ID) -> None:
        """Write the markers of an id's transaction."""
        (found,) = (each for each in self.markers if each.transactional_id == transactional_id)
        self.markers.remove(found)
        self.perform(self.shard.complete_markers(*found, now_ms=self.now_ms))

    def advance(self, time_ms: int) -> None:
        """Advance the time; timers that are due fire once each."""
        self.now_ms += time_ms
        for key, at_ms in sorted(self.timers.items()):
            if at_ms <= self.now_ms:
                del self.timers[key]
                self.perform(self.shard.on_timer(key, self.now_ms))

    def _loaded(self) -> TransactionShard:
        shard = TransactionShard(self.settings, coordinator_epoch=self.coordinator_epoch)
        for offset in range(len(self.log)):
            self._replay(shard, offset)
        self.shard = shard
        self.perform(shard.finish_load(self.now_ms))
        return shard

    def _replay(self, shard: TransactionShard, offset: int) -> None:
        key, value = self.log[offset]
        record = decode_record(TRANSACTION_RECORDS, key, value=value)
        assert record is not None
        shard.replay(StoredRecord(record, offset))

    # -- the state

    def put(self, found: TransactionMetadata) -> None:
        """Write the state of an id, as an earlier coordinator did; load it."""
        version = record_version(self.settings.transaction_version)
        self.log.append(encode_record(transaction_record(found, version=version)))
        self.reload()

    def found(self, transactional_id: str = ID) -> TransactionMetadata:
        """Return the metadata of an id."""
        metadata = self.shard.transactions.get(transactional_id)
        assert metadata is not None
        return metadata

    # -- requests

    def init(
        self,
        transactional_id: str = ID,
        *,
        expected: tuple[int, int] = NO_PRODUCER,
        timeout_ms: int = TIMEOUT_MS,
        version: int = 5,
    ) -> Producer:
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
        )
        found = self.answer(
            lambda ticket: self.shard.init_producer_id(
                request, ClientContext(version), ticket=ticket, now_ms=self.now_ms
            )
        )
        if isinstance(found, KafkaError):
            return Producer(found.code)
        assert isinstance(found, InitProducerIdResponse)
        return Producer(found.error_code, found.producer_id, found.producer_epoch)

    def end(
        self,
        producer: tuple[int, int],
        *,
        commit: bool = True,
        transactional_id: str = ID,
        version: int = 5,
    ) -> Producer:
        request = EndTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            committed=commit,
        )
        found = self.answer(
            lambda ticket: self.shard.end_transaction(
                request, ClientContext(version), ticket=ticket, now_ms=self.now_ms
            )
        )
        if isinstance(found, KafkaError):
            return Producer(found.code)
        assert isinstance(found, EndTxnResponse)
        return Producer(found.error_code, found.producer_id, found.producer_epoch)

    def add(
        self,
        producer: tuple[int, int],
        *partitions: TopicPartition,
        transactional_id: str = ID,
        version: int = 5,
        verify: bool = False,
    ) -> list[int]:
        """Return the codes of the partitions, in order."""
        request = add_request(
            producer,
            partitions,
            transactional_id=transactional_id,
            version=version,
            verify=verify,
        )
        return codes_of(self.add_all(request, version))

    def add_all(
        self, request: AddPartitionsToTxnRequest, version: int
    ) -> AddPartitionsToTxnResponse:
        found = self.answer(
            lambda ticket: self.shard.add_partitions(
                request, ClientContext(version), ticket=ticket, now_ms=self.now_ms
            )
        )
        assert isinstance(found, AddPartitionsToTxnResponse)
        return found

    def add_offsets(
        self,
        producer: tuple[int, int],
        *,
        group: str = "group",
        transactional_id: str = ID,
        version: int = 4,
        offsets_partitions: int = 50,
    ) -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            group_id=group,
        )
        found = self.answer(
            lambda ticket: self.shard.add_offsets(
                request,
                ClientContext(version),
                ticket=ticket,
                now_ms=self.now_ms,
                offsets_partitions=offsets_partitions,
            )
        )
        return found.code if isinstance(found, KafkaError) else 0

    def describe(self, *transactional_ids: str) -> DescribeTransactionsResponse:
        request = DescribeTransactionsRequest(transactional_ids=[*transactional_ids])
        found = self.answer(
            lambda ticket: self.shard.describe_transactions(
                request, ClientContext(0), ticket=ticket, now_ms=self.now_ms
            )
        )
        assert isinstance(found, DescribeTransactionsResponse)
        return found


def add_request(
    producer: tuple[int, int],
    partitions: Iterable[TopicPartition],
    *,
    transactional_id: str = ID,
    version: int = 5,
    verify: bool = False,
) -> AddPartitionsToTxnRequest:
    """Return a request in the form of its version."""
    topics = topics_of(partitions)
    if version < 4:
        return AddPartitionsToTxnRequest(
            transactional_id=transactional_id,
            producer_id=producer[0],
            producer_epoch=producer[1],
            topics=topics,
        )
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=transactional_id,
                producer_id=producer[0],
                producer_epoch=producer[1],
                verify_only=verify,
                topics=topics,
            )
        ]
    )


def topics_of(partitions: Iterable[TopicPartition]) -> list[AddPartitionsToTxnTopic]:
    """Return the topics of a request, one for each partition."""
    return [
        AddPartitionsToTxnTopic(name=each.topic, partitions=[each.partition]) for each in partitions
    ]


def codes_of(response: AddPartitionsToTxnResponse) -> list[int]:
    """Return the codes of all partitions, in order."""
    return [code for _, code in _coded(response)]


def codes_by_partition(response: AddPartitionsToTxnResponse) -> dict[TopicPartition, int]:
    """Return the codes of the partitions of one transaction."""
    return dict(_coded(response))


def _coded(response: AddPartitionsToTxnResponse) -> list[tuple[TopicPartition, int]]:
    results = [
        *response.results_by_topic,
        *(topic for each in response.results_by_transaction for topic in each.topic_results),
    ]
    return [
        (tp(f"{topic.name}-{each.partition_index}"), each.partition_error_code)
        for topic in results
        for each in topic.results_by_partition
    ]

"""Produce handler: appends record sets to partitions, with a result for each.

    acks  0   no response; an error closes the connection, so that the producer notices it
    acks  1   a response once this broker has the records
    acks -1   a response once all in-sync replicas have them, or REQUEST_TIMED_OUT

All record sets are appended before the first wait, so that the partitions of a request share it,
and so do the next requests of the connection (`pending_response`). A duplicate batch gets the
offsets of its first append. From version 10 on, NOT_LEADER_OR_FOLLOWER has the current leader with
it. The transaction of a request is verified with its coordinator before the first append: see
`transactional_batches`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import chain
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.coordinators.transaction_verifier import Verified
from cordwood.broker.handlers.transactional_batches import BatchKey, verify_batches
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.metadata.metadata_image import INTERNAL_TOPICS
from cordwood.broker.network.pending_response import PendingResponse
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.partitions.current_leaders import CurrentLeaders
from cordwood.broker.partitions.delayed_produce import WrittenAppend
from cordwood.broker.partitions.hosted_partitions import TopicRef
from cordwood.broker.partitions.partition_leader import AppendRequest, PartitionAppendResult
from cordwood.broker.partitions.topic_metrics import TopicMetrics
from cordwood.broker.pending_results import wait_until_done
from cordwood.broker.services import BrokerServices
from cordwood.core.binary import Buffer
from cordwood.core.errors import (
    InvalidRecordError,
    InvalidRequiredAcksError,
    InvalidTopicError,
    KafkaError,
    NotLeaderOrFollowerError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedCompressionTypeError,
)
from cordwood.core.ports import Pending, Slice
from cordwood.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from cordwood.protocol.schema import Response
from cordwood.records.batch_header import read_header
from cordwood.records.compression import Codec
from cordwood.records.record_batch import MAGIC
from cordwood.storage.log.log_append import AppendContext
from cordwood.storage.validation.record_rules import RejectedRecordsError

_NO_RESPONSE: Final = 0
_ACKS: Final = (-1, _NO_RESPONSE, 1)
_FIRST_WITH_ZSTD: Final = 7
_FIRST_WITH_LEADERS: Final = 10
_FIRST_BY_ID: Final = 13
#: Kafka's own tools write to internal topics with this client id.
_MAY_WRITE_INTERNAL: Final = "__admin_client"
_NONE: Final = -1
#: The most record sets of a request whose response is pending: it is made in one turn.
_MOST_PENDING: Final = 32
#: The origin of a batch that needs no verification.
FROM_CLIENT: Final = AppendContext()
_Outcome: TypeAlias = PartitionAppendResult | KafkaError
#: The verifications of a request without a transaction.
NOT_VERIFIED: Final[Mapping[BatchKey, Verified]] = MappingProxyType({})


async def begin_produce(
    broker: BrokerServices, context: RequestContext, request: ProduceRequest
) -> ProduceResponse | PendingResponse | None:
    """Append the record sets; return the offsets or the error of each.

    The response of a small request whose records are written is pending until they count.
    """
    turns = LoopTurns(broker.turns)
    appends: list[list[_Append]] = []
    producer = _Producer(broker, context, request, NOT_VERIFIED)
    if request.transactional_id is not None:
        verified = await verify_batches(broker, context, request, turns=turns)
        producer = producer._replace(verified=verified)
    for topic in request.topics:
        if turns.is_over_at_light():
            await turns.pause()
        appends.append(of_topic := [])
        for each in topic.partitions:
            if turns.is_over:
                await turns.pause()
            append = _append(producer, topic, data=each)
            of_topic.append(append)
    if request.acks != _NO_RESPONSE:
        unknown = _written_appends(appends)
        if unknown:
            return PendingResponse(_PendingProduce(producer, appends, unknown).future, _raise)
    outcomes = [await _outcomes(of_topic, turns) for of_topic in appends]
    if request.acks == _NO_RESPONSE:
        _raise_first_error(outcomes)
        return None
    return await _response(producer, outcomes, turns)


async def produce(
    broker: BrokerServices, context: RequestContext, request: ProduceRequest
) -> ProduceResponse | None:
    """Append the record sets, and wait until they count."""
    begun = await begin_produce(broker, context, request)
    response = await begun.response() if isinstance(begun, PendingResponse) else begun
    assert response is None or isinstance(response, ProduceResponse)
    return response


class _Append(NamedTuple):
    """The append of one record set: in progress, or rejected at once.

    An error that is kept has no traceback: its frames refer to the error and to the request, whose
    memory only the cyclic garbage collector would free.
    """

    pending: Pending[PartitionAppendResult] | KafkaError
    size: int = 0
    metrics: TopicMetrics | None = None

    async def wait(self) -> None:
        """Wait until the append is done."""
        if not isinstance(self.pending, KafkaError):
            await wait_until_done(self.pending)

    @property
    def is_done(self) -> bool:
        return isinstance(self.pending, KafkaError) or self.pending.done()

    def outcome(self) -> _Outcome:
        """Return the result or the error of an append that is done, and count it in the metrics."""
        pending = self.pending
        if isinstance(pending, KafkaError):
            outcome: _Outcome = pending
        else:
            try:
                outcome = pending.result()
            except KafkaError as error:
                outcome = error.with_traceback(None)
        if self.metrics is None:
            return outcome
        if isinstance(outcome, KafkaError):
            self.metrics.record_rejection(outcome)
        else:
            self.metrics.record_append(outcome.result, self.size)
        return outcome


def _written_appends(
    appends: Sequence[Sequence[_Append]],
) -> list[WrittenAppend[PartitionAppendResult]]:
    """Return the appends that do not count yet; none if some are not written, or if they are many.

    Until an append is written it needs the memory of its request.
    """
    unknown = list[WrittenAppend[PartitionAppendResult]]()
    for each in chain.from_iterable(appends):
        if isinstance(each.pending, WrittenAppend):
            unknown.append(each.pending)
        elif not each.is_done:
            return []
    return unknown if len(unknown) <= _MOST_PENDING else []


class _PendingProduce:
    """The response of a request whose records are written; `future` gets it once all count."""

    __slots__ = ("_appends", "_producer", "_unknown", "future")

    def __init__(
        self,
        producer: "_Producer",
        appends: Sequence[Sequence[_Append]],
        unknown: Sequence[WrittenAppend[PartitionAppendResult]],
    ) -> None:
        self.future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._producer = producer._replace(request=_without_records(producer.request))
        self._appends = appends
        self._unknown = len(unknown)
        for each in unknown:
            each.add_done_callback(self._count)

    def _count(self, _: object) -> None:
        self._unknown -= 1
        if self._unknown or self.future.done():
            return
        try:
            outcomes = [[each.outcome() for each in of_topic] for of_topic in self._appends]
            self.future.set_result(_response_now(self._producer, outcomes))
        except Exception as error:  # noqa: BLE001 - the connection raises it
            self.future.set_exception(error)


def _without_records(request: ProduceRequest) -> ProduceRequest:
    """Return a request whose record sets are released."""
    for topic in request.topics:
        for each in topic.partitions:
            each.records = None
    return request


def _raise(error: KafkaError) -> Response:
    raise error


async def _outcomes(appends: Sequence[_Append], turns: LoopTurns) -> list[_Outcome]:
    """Wait for the outcomes of one topic."""
    outcomes = []
    for each in appends:
        if turns.is_over_at_light():
            await turns.pause()
        if not each.is_done:
            await each.wait()
        outcomes.append(each.outcome())
    return outcomes


class _Producer(NamedTuple):
    """The request of a producer, with the verifications of its transactional batches."""

    broker: BrokerServices
    context: RequestContext
    request: ProduceRequest
    verified: Mapping[BatchKey, Verified]

    def append_context(self, reference: TopicRef, index: int) -> AppendContext:
        """Return the guard of a batch; raise the error of its verification."""
        guard = self.verified.get((reference, index))
        if isinstance(guard, KafkaError):
            raise copy(guard)
        return FROM_CLIENT if guard is None else AppendContext(guard=guard)


def _append(producer: _Producer, topic: TopicProduceData, *, data: PartitionProduceData) -> _Append:
    broker, context, request, _ = producer
    version = context.api_version
    reference: TopicRef = topic.topic_id if version >= _FIRST_BY_ID else topic.name
    try:
        if request.acks not in _ACKS:
            raise InvalidRequiredAcksError(f"acks is -1, 0 or 1, not {request.acks}")
        partition = broker.partitions.get(reference, data.index)
    except KafkaError as error:
        return _Append(error.with_traceback(None))
    try:
        if partition.name.topic in INTERNAL_TOPICS and context.client_id != _MAY_WRITE_INTERNAL:
            raise InvalidTopicError(f"{partition.name.topic} is written by brokers alone")
        has_transaction = request.transactional_id is not None
        records = _one_batch(data.records, version, has_transaction=has_transaction)
        origin = producer.append_context(reference, data.index) if has_transaction else FROM_CLIENT
        pending = partition.append(records, AppendRequest(request.acks, request.timeout_ms, origin))
    except KafkaError as error:
        return _Append(error.with_traceback(None), metrics=partition.metrics)
    return _Append(pending, len(records), partition.metrics)


def _one_batch(
    records: Buffer | Slice | None, version: int, *, has_transaction: bool
) -> memoryview:
    """Return the record set; raise unless it is exactly one whole batch that the version allows."""
    view = records if isinstance(records, memoryview) else memoryview(b"")
    header = read_header(view)
    if header is None or header.end > len(view):
        raise InvalidRecordError("a record set without a batch", expected="at least 1", found=0)
    if header.magic != MAGIC:
        raise InvalidRecordError(
            "a batch of an old format", position=0, expected=f"magic {MAGIC}", found=header.magic
        )
    if header.is_transactional and not has_transaction:
        raise TransactionalIdAuthorizationFailedError(
            "a transactional batch comes with a transactional id"
        )
    if header.codec_id == Codec.ZSTD and version < _FIRST_WITH_ZSTD:
        raise UnsupportedCompressionTypeError(
            f"zstd may be used from version {_FIRST_WITH_ZSTD} on, not in {version}"
        )
    following = read_header(view, header.end) if header.end < len(view) else None
    if following is not None and following.end <= len(view):
        raise InvalidRecordError(
            "a record set of more than one batch", position=header.end, expected=1, found="another"
        )
    return view


async def _response(
    producer: _Producer, outcomes: Sequence[Sequence[_Outcome]], turns: LoopTurns
) -> ProduceResponse:
    """Return the outcomes by topic, with the leaders of partitions that are led elsewhere."""
    response = _Response(producer)
    for topic, results in zip(producer.request.topics, outcomes, strict=True):
        response.add_topic(topic)
        for data, outcome in zip(topic.partitions, results, strict=True):
            if turns.is_over_at_light():
                await turns.pause()
            response.add(topic, index=data.index, outcome=outcome)
    return response.message()


def _response_now(producer: _Producer, outcomes: Sequence[Sequence[_Outcome]]) -> ProduceResponse:
    """Return the response to a small request."""
    response = _Response(producer)
    for topic, results in zip(producer.request.topics, outcomes, strict=True):
        response.add_topic(topic)
        for data, outcome in zip(topic.partitions, results, strict=True):
            response.add(topic, index=data.index, outcome=outcome)
    return response.message()


class _Response:
    """A response to which outcomes are added in their order."""

    __slots__ = ("_leaders", "_producer", "_topics")

    def __init__(self, producer: _Producer) -> None:
        self._producer = producer
        self._topics = list[TopicProduceResponse]()
        self._leaders: CurrentLeaders | None = None

    def add_topic(self, topic: TopicProduceData) -> None:
        """Add a topic without partitions."""
        self._topics.append(
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partitions=[])
        )

    def add(self, topic: TopicProduceData, *, index: int, outcome: _Outcome) -> None:
        """Add a partition to the last topic."""
        broker, context, version = (
            self._producer.broker,
            self._producer.context,
            self._producer.context.api_version,
        )
        partition = _partition_response(index, outcome)
        self._topics[-1].partitions.append(partition)
        is_led_elsewhere = partition.error_code == NotLeaderOrFollowerError.code
        if is_led_elsewhere and version >= _FIRST_WITH_LEADERS:
            reference = topic.topic_id if version >= _FIRST_BY_ID else topic.name
            self._leaders = self._leaders or _leaders(broker, context)
            partition.current_leader = self._leaders.find(reference, index)

    def message(self) -> ProduceResponse:
        """Return the whole response."""
        endpoints = [] if self._leaders is None else self._leaders.endpoints()
        return ProduceResponse(responses=self._topics, node_endpoints=endpoints)


def _leaders(broker: BrokerServices, context: RequestContext) -> CurrentLeaders:
    return CurrentLeaders(broker.partitions, broker.metadata.image, context.connection.listener)


def _partition_response(index: int, outcome: _Outcome) -> PartitionProduceResponse:
    if isinstance(outcome, PartitionAppendResult):
        return PartitionProduceResponse(
            index=index,
            error_code=0,
            base_offset=outcome.result.first_offset,
            log_append_time_ms=outcome.result.log_append_time_ms,
            log_start_offset=outcome.log_start,
        )
    rejected = outcome.record_errors if isinstance(outcome, RejectedRecordsError) else ()
    return PartitionProduceResponse(
        index=index,
        error_code=outcome.code,
        base_offset=_NONE,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=each, batch_index_error_message=message)
            for each, message in rejected
        ],
        error_message=str(outcome),
    )


def _raise_first_error(outcomes: list[list[_Outcome]]) -> None:
    """Raise an error if there is one; the connection's end is all that acks=0 can report.

    It is a copy, since its frames refer to the outcomes.
    """
    for of_topic in outcomes:
        for outcome in of_topic:
            if isinstance(outcome, KafkaError):
                raise copy(outcome)

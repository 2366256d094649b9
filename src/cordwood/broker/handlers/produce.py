"""Produce: record sets into the logs of their partitions, each with an answer of its own.

    acks  0   no answer; what is refused ends the connection, so that the producer hears of it
    acks  1   an answer once this broker has the records
    acks -1   an answer once all replicas in sync have them: this broker is all there are, and
              `min.insync.replicas` asks for no more than there are

All sets are written before any is waited for, so the partitions of a request share the wait for the
disk. A batch that was sent before is answered with where it is. Without a coordinator no
transaction is known, and a transactional batch is refused as part of none (INVALID_TXN_STATE).
"""

from typing import Final

from cordwood.broker.broker import Broker
from cordwood.broker.internal_topics import INTERNAL_TOPICS
from cordwood.broker.partition import Appended
from cordwood.broker.request import RequestContext
from cordwood.broker.waiting import done
from cordwood.core.binary import Buffer
from cordwood.core.errors import (
    InvalidRecordError,
    InvalidRequiredAcksError,
    InvalidTopicError,
    KafkaError,
    UnsupportedCompressionTypeError,
)
from cordwood.core.ports import Slice
from cordwood.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from cordwood.records.batch import MAGIC
from cordwood.records.compression import Codec
from cordwood.records.header import read_header
from cordwood.storage.record_errors import RejectedRecordsError

_NO_ANSWER: Final = 0
_ACKS: Final = (-1, _NO_ANSWER, 1)
_FIRST_WITH_ZSTD: Final = 7
_FIRST_BY_ID: Final = 13
_MAY_WRITE_INTERNAL: Final = "__admin_client"
_NONE: Final = -1


async def produce(
    broker: Broker, context: RequestContext, request: ProduceRequest
) -> ProduceResponse | None:
    """Write every set that may be written, and say where each is or why it is not."""
    outcomes = [
        [
            _append(broker, context, acks=request.acks, topic=topic, data=each)
            for each in topic.partitions
        ]
        for topic in request.topics
    ]
    if request.acks == _NO_ANSWER:
        _ensure_all_came(outcomes)
        return None
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    await _answer(each.index, came)
                    for each, came in zip(topic.partitions, of_topic, strict=True)
                ],
            )
            for topic, of_topic in zip(request.topics, outcomes, strict=True)
        ]
    )


def _append(
    broker: Broker,
    context: RequestContext,
    *,
    acks: int,
    topic: TopicProduceData,
    data: PartitionProduceData,
) -> Appended | KafkaError:
    version = context.api_version
    try:
        if acks not in _ACKS:
            raise InvalidRequiredAcksError(f"acks is -1, 0 or 1, not {acks}")
        partition = broker.partitions.get(
            topic.topic_id if version >= _FIRST_BY_ID else topic.name, data.index
        )
    except KafkaError as error:
        return error
    try:
        if partition.name.topic in INTERNAL_TOPICS and context.client_id != _MAY_WRITE_INTERNAL:
            raise InvalidTopicError(f"{partition.name.topic} is written by brokers alone")
        records = _one_batch(data.records, version)
        appended = partition.append(records)
    except KafkaError as error:
        partition.traffic.refused(error)
        return error
    partition.traffic.took(appended.result, len(records))
    return appended


def _one_batch(records: Buffer | Slice | None, version: int) -> memoryview:
    """Return a record set that this version may carry: a whole batch of v2, and no other."""
    view = records if isinstance(records, memoryview) else memoryview(b"")
    header = read_header(view)
    if header is None or header.end > len(view):
        raise InvalidRecordError("a record set without a batch", expected="at least 1", found=0)
    if header.magic != MAGIC:
        raise InvalidRecordError(
            "a batch of an old format", position=0, expected=f"magic {MAGIC}", found=header.magic
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


async def _answer(index: int, came: Appended | KafkaError) -> PartitionProduceResponse:
    """Return a partition's answer, once what was written counts."""
    if isinstance(came, Appended):
        try:
            if came.durable is not None:
                await done(came.durable)
        except KafkaError as error:
            came = error
        else:
            return PartitionProduceResponse(
                index=index,
                error_code=0,
                base_offset=came.result.first_offset,
                log_append_time_ms=came.result.log_append_time_ms,
                log_start_offset=came.log_start,
            )
    rejected = came.record_errors if isinstance(came, RejectedRecordsError) else ()
    return PartitionProduceResponse(
        index=index,
        error_code=came.code,
        base_offset=_NONE,
        record_errors=[
            BatchIndexAndErrorMessage(batch_index=each, batch_index_error_message=message)
            for each, message in rejected
        ],
        error_message=str(came),
    )


def _ensure_all_came(outcomes: list[list[Appended | KafkaError]]) -> None:
    """Raise for a producer that gets no answer, and would go on without knowing."""
    for of_topic in outcomes:
        for came in of_topic:
            if isinstance(came, KafkaError):
                raise came

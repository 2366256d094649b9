"""Produce handler: appends record sets to partitions, with a result for each.

    acks  0   no response; an error closes the connection, so that the producer notices it
    acks  1   a response once this broker has the records
    acks -1   a response once all in-sync replicas have them; this broker is the only replica, and
              `min.insync.replicas` never requires more than there are

All record sets are appended before any fsync is waited for, so that the partitions of a request
share the wait. A duplicate batch gets the offsets of its first append. There is no transaction
coordinator, so a transactional batch gets INVALID_TXN_STATE.
"""

from typing import Final

from cordwood.broker.metadata.metadata_image import INTERNAL_TOPICS
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.partitions.partition import PartitionAppendResult
from cordwood.broker.pending_results import wait_for
from cordwood.broker.services import BrokerServices
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
from cordwood.records.batch_header import read_header
from cordwood.records.compression import Codec
from cordwood.records.record_batch import MAGIC
from cordwood.storage.validation.record_rules import RejectedRecordsError

_NO_RESPONSE: Final = 0
_ACKS: Final = (-1, _NO_RESPONSE, 1)
_FIRST_WITH_ZSTD: Final = 7
_FIRST_BY_ID: Final = 13
#: Kafka's own tools write to internal topics with this client id.
_MAY_WRITE_INTERNAL: Final = "__admin_client"
_NONE: Final = -1


async def produce(
    broker: BrokerServices, context: RequestContext, request: ProduceRequest
) -> ProduceResponse | None:
    """Append the record sets; return the offsets or the error of each."""
    outcomes = [
        [
            _append(broker, context, acks=request.acks, topic=topic, data=each)
            for each in topic.partitions
        ]
        for topic in request.topics
    ]
    if request.acks == _NO_RESPONSE:
        _raise_first_error(outcomes)
        return None
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    await _partition_response(each.index, outcome)
                    for each, outcome in zip(topic.partitions, of_topic, strict=True)
                ],
            )
            for topic, of_topic in zip(request.topics, outcomes, strict=True)
        ]
    )


def _append(
    broker: BrokerServices,
    context: RequestContext,
    *,
    acks: int,
    topic: TopicProduceData,
    data: PartitionProduceData,
) -> PartitionAppendResult | KafkaError:
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
        partition.metrics.record_rejection(error)
        return error
    partition.metrics.record_append(appended.result, len(records))
    return appended


def _one_batch(records: Buffer | Slice | None, version: int) -> memoryview:
    """Return the record set; raise unless it is exactly one whole batch that the version allows."""
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


async def _partition_response(
    index: int, outcome: PartitionAppendResult | KafkaError
) -> PartitionProduceResponse:
    """Return a partition's result, after its fsync if it needs one."""
    if isinstance(outcome, PartitionAppendResult):
        try:
            if outcome.durable is not None:
                await wait_for(outcome.durable)
        except KafkaError as error:
            outcome = error
        else:
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


def _raise_first_error(outcomes: list[list[PartitionAppendResult | KafkaError]]) -> None:
    """Raise an error if there is one; the connection's end is all that acks=0 can report."""
    for of_topic in outcomes:
        for outcome in of_topic:
            if isinstance(outcome, KafkaError):
                raise outcome

"""Fetch: batches as they lie in the logs, for as many partitions as the session or request names.

What is read are ranges of files, which are sent without a look into them; so batches of old formats
go out as they are. Below version 10 a topic whose codec is zstd is refused, for its readers do not
know that. This broker leads whatever it has, so nobody is sent to another leader.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from cordwood.broker import fetching
from cordwood.broker.broker import Broker
from cordwood.broker.fetch_sessions import Answer, Key
from cordwood.broker.fetching import Found, Limits, Wanted, isolation_of
from cordwood.broker.partition import Partition
from cordwood.broker.partitions import TopicRef
from cordwood.broker.request import RequestContext
from cordwood.core.errors import KafkaError, UnsupportedCompressionTypeError
from cordwood.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from cordwood.records import chunk
from cordwood.records.compression import Codec

_FIRST_WITH_ZSTD: Final = 10
_NONE: Final = -1


async def fetch(broker: Broker, context: RequestContext, request: FetchRequest) -> FetchResponse:
    """Read what the session or the request asks for, and wait where that is too little."""
    clock, version = broker.network.clock, context.api_version
    turn = broker.sessions.begin(request, version, now_ms=clock.monotonic_ms())
    wanted = [_wanted(broker, key, asked, version=version) for key, asked in turn.asked]
    found = await fetching.fetch(
        wanted,
        _limits(broker, request),
        network=broker.network,
        stopping=context.connection.stopping,
    )
    try:
        answers = [
            (key, _data(key, each)) for (key, _), each in zip(turn.asked, found, strict=True)
        ]
        session_id, told = broker.sessions.end(turn, answers, now_ms=clock.monotonic_ms())
        return FetchResponse(session_id=session_id, responses=_by_topic(told))
    except BaseException:
        fetching.release(found)
        raise


def refused(
    _: FetchRequest,
    error: KafkaError,
    *,
    version: int,  # noqa: ARG001 - as dispatch calls it
) -> FetchResponse:
    """Say what is wrong with the session; nothing has been read."""
    return FetchResponse(error_code=error.code, responses=[])


def _limits(broker: Broker, request: FetchRequest) -> Limits:
    max_bytes = min(request.max_bytes, broker.configs.integer("fetch.max.bytes"))
    return Limits(
        max_bytes=max_bytes,
        min_bytes=min(request.min_bytes, max_bytes),
        max_wait_ms=request.max_wait_ms,
        isolation=isolation_of(request.isolation_level),
    )


def _wanted(broker: Broker, key: Key, asked: FetchPartition, *, version: int) -> Wanted:
    source: Partition | KafkaError
    try:
        source = broker.partitions.get(*key)
        if version < _FIRST_WITH_ZSTD:
            _ensure_codec_is_known(source)
    except KafkaError as error:
        source = error
    return Wanted(
        source,
        asked.fetch_offset,
        asked.partition_max_bytes,
        asked.current_leader_epoch,
        asked.last_fetched_epoch,
    )


def _ensure_codec_is_known(partition: Partition) -> None:
    if partition.log.config.compression_type == Codec.ZSTD.name.lower():
        raise UnsupportedCompressionTypeError(
            f"{partition.name} is compressed with zstd, which fetch knows from version "
            f"{_FIRST_WITH_ZSTD} on"
        )


def _data(key: Key, found: Found) -> PartitionData:
    read, divergence = found.read, found.divergence
    if read is None:
        return PartitionData(
            partition_index=key[1],
            error_code=0 if found.error is None else found.error.code,
            high_watermark=_NONE,
            aborted_transactions=None,
            records=b"",
        )
    data = PartitionData(
        partition_index=key[1],
        error_code=0,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable,
        log_start_offset=read.log_start,
        aborted_transactions=None if read.aborted is None else _in_order(read.aborted),
        records=b"" if read.slice is None else read.slice,
    )
    if divergence is not None:
        data.diverging_epoch = EpochEndOffset(
            epoch=divergence.epoch, end_offset=divergence.end_offset
        )
    return data


def _in_order(aborted: Iterable[chunk.AbortedTransaction]) -> list[AbortedTransaction]:
    """Return transactions as readers go through them: they do not look for an earlier one."""
    return [
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in sorted(aborted, key=attrgetter("first_offset"))
    ]


def _by_topic(answers: Iterable[Answer]) -> list[FetchableTopicResponse]:
    topics: dict[TopicRef, FetchableTopicResponse] = {}
    for (topic, _), data in answers:
        if topic not in topics:
            topics[topic] = _topic(topic)
        topics[topic].partitions.append(data)
    return list(topics.values())


def _topic(topic: TopicRef) -> FetchableTopicResponse:
    if isinstance(topic, str):
        return FetchableTopicResponse(topic=topic, partitions=[])
    return FetchableTopicResponse(topic_id=topic, partitions=[])

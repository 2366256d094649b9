"""Fetch handler: batches of the partitions that the session or the request contains.

Batches are sent as file ranges without decoding, so batches of old formats are sent unchanged.
Versions below 10 get UNSUPPORTED_COMPRESSION_TYPE for a topic with `compression.type` zstd, as
their clients cannot decompress it. This broker leads every partition that it hosts, so a response
never names another leader.
"""

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.partitions import delayed_fetch
from cordwood.broker.partitions.delayed_fetch import (
    FetchParams,
    PartitionFetch,
    PartitionFetchResult,
    isolation_of,
)
from cordwood.broker.partitions.fetch_sessions import Key, KeyedData
from cordwood.broker.partitions.hosted_partitions import TopicRef
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.services import BrokerServices
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
from cordwood.records import decoder
from cordwood.records.compression import Codec

_FIRST_WITH_ZSTD: Final = 10
_NONE: Final = -1


async def fetch(
    broker: BrokerServices, context: RequestContext, request: FetchRequest
) -> FetchResponse:
    """Return batches of the requested partitions, after a wait if there are too few."""
    clock, version = broker.clock, context.api_version
    fetch_context = broker.sessions.new_context(request, version, now_ms=clock.monotonic_ms())
    requested = fetch_context.requested
    results = await delayed_fetch.fetch(
        [_partition_fetch(broker, key, each, version=version) for key, each in requested],
        _params(broker, request),
        clock=clock,
        scheduler=broker.scheduler,
        stopping=context.connection.stopping,
    )
    try:
        data = [(key, _data(key, each)) for (key, _), each in zip(requested, results, strict=True)]
        session_id, changed = broker.sessions.finish(
            fetch_context, data, now_ms=clock.monotonic_ms()
        )
        return FetchResponse(session_id=session_id, responses=_by_topic(changed))
    except BaseException:
        delayed_fetch.release(results)
        raise


def error_response(
    _: FetchRequest,
    error: KafkaError,
    *,
    version: int,  # noqa: ARG001 - as dispatch calls it
) -> FetchResponse:
    """Return the response that carries an error of the session; nothing has been read."""
    return FetchResponse(error_code=error.code, responses=[])


def _params(broker: BrokerServices, request: FetchRequest) -> FetchParams:
    max_bytes = min(request.max_bytes, broker.configs.integer("fetch.max.bytes"))
    return FetchParams(
        max_bytes=max_bytes,
        min_bytes=min(request.min_bytes, max_bytes),
        max_wait_ms=request.max_wait_ms,
        isolation=isolation_of(request.isolation_level),
    )


def _partition_fetch(
    broker: BrokerServices, key: Key, requested: FetchPartition, *, version: int
) -> PartitionFetch:
    source: Partition | KafkaError
    try:
        source = broker.partitions.get(*key)
        if version < _FIRST_WITH_ZSTD:
            _ensure_codec_supported(source)
    except KafkaError as error:
        source = error
    return PartitionFetch(
        source,
        requested.fetch_offset,
        requested.partition_max_bytes,
        requested.current_leader_epoch,
        requested.last_fetched_epoch,
    )


def _ensure_codec_supported(partition: Partition) -> None:
    if partition.log.config.compression_type == Codec.ZSTD.name.lower():
        raise UnsupportedCompressionTypeError(
            f"{partition.name} is compressed with zstd, which fetch supports from version "
            f"{_FIRST_WITH_ZSTD}"
        )


def _data(key: Key, result: PartitionFetchResult) -> PartitionData:
    read, divergence = result.read, result.divergence
    if read is None:
        return PartitionData(
            partition_index=key[1],
            error_code=0 if result.error is None else result.error.code,
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


def _in_order(aborted: Iterable[decoder.AbortedTransaction]) -> list[AbortedTransaction]:
    """Return transactions by first offset: consumers scan them once, in this order."""
    return [
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in sorted(aborted, key=attrgetter("first_offset"))
    ]


def _by_topic(partitions: Iterable[KeyedData]) -> list[FetchableTopicResponse]:
    topics: dict[TopicRef, FetchableTopicResponse] = {}
    for (topic, _), data in partitions:
        if topic not in topics:
            topics[topic] = _topic(topic)
        topics[topic].partitions.append(data)
    return list(topics.values())


def _topic(topic: TopicRef) -> FetchableTopicResponse:
    if isinstance(topic, str):
        return FetchableTopicResponse(topic=topic, partitions=[])
    return FetchableTopicResponse(topic_id=topic, partitions=[])

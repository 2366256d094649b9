"""Fetch handler: batches of the partitions that the session or the request contains.

Batches are sent as file ranges without decoding, so batches of old formats are sent unchanged.
Versions below 10 get UNSUPPORTED_COMPRESSION_TYPE for a topic with `compression.type` zstd, as
their clients cannot decompress it. From version 11 on, a consumer may read from a follower, and the
leader may name one in the consumer's rack (KIP-392). From version 16 on, an error of the leadership
has the current leader with it.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Final

from cordwood.broker.large_messages import ELEMENTS_PER_TURN
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.partitions import delayed_fetch
from cordwood.broker.partitions.current_leaders import CurrentLeaders
from cordwood.broker.partitions.delayed_fetch import (
    CONSUMER,
    UNREAD,
    FetchParams,
    PartitionFetchResult,
    isolation_of,
)
from cordwood.broker.partitions.fetch_sessions import (
    CachedPartition,
    FetchContext,
    Key,
    KeyedData,
)
from cordwood.broker.partitions.hosted_partitions import TopicRef
from cordwood.broker.partitions.idle_reader import IdleReader
from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_fetch import PartitionFetch
from cordwood.broker.partitions.replica_selector import ReplicaSelection
from cordwood.broker.partitions.requested_partitions import partitions_of
from cordwood.broker.services import BrokerServices
from cordwood.broker.settings.replication import RACK_AWARE_SELECTOR
from cordwood.cluster.partition.replica_state import NO_BROKER_EPOCH
from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import (
    FencedLeaderEpochError,
    KafkaError,
    NotLeaderOrFollowerError,
    UnsupportedCompressionTypeError,
)
from cordwood.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from cordwood.records import decoder
from cordwood.records.compression import Codec
from cordwood.storage.log.log_read import FetchIsolation

_FIRST_WITH_ZSTD: Final = 10
_OF_LEADERSHIP: Final = frozenset({NotLeaderOrFollowerError.code, FencedLeaderEpochError.code})
_FIRST_WITH_LEADERS: Final = 16
#: The first version whose readers may read from a follower.
_FIRST_WITH_RACK: Final = 11
_NONE: Final = -1
#: The number of partitions between two looks at the time.
_LOOKUPS_AT_A_TIME: Final = 64
#: The longest wait of a fetch of many partitions, whose objects other large requests wait for.
_LARGE_WAIT_MS: Final = 500


async def fetch(
    broker: BrokerServices, context: RequestContext, request: FetchRequest
) -> FetchResponse:
    """Return batches of the requested partitions, after a wait if there are too few."""
    clock, version, turns = broker.clock, context.api_version, LoopTurns(broker.turns)
    partitions = await partitions_of(request, version, turns=turns)
    fetch_context = broker.sessions.new_context(
        request, partitions, version=version, now_ms=clock.monotonic_ms()
    )
    requested = fetch_context.requested
    params = _params(broker, request, fetch_context, context=context)
    results = await delayed_fetch.fetch(
        await _fetches(broker, requested, params, version=version, turns=turns),
        params,
        turns=turns,
        clock=clock,
        scheduler=broker.scheduler,
        stopping=context.connection.stopping,
    )
    try:
        turns.begin()
        leaders = CurrentLeaders(
            broker.partitions, broker.metadata.image, context.connection.listener
        )
        named = leaders if version >= _FIRST_WITH_LEADERS else None
        read = [each for each in zip(requested, results, strict=True) if each[1] is not UNREAD]
        data = await turns.collect(partial(_keyed_data, leaders=named), read)
        session_id, changed = broker.sessions.finish(
            fetch_context, data, now_ms=clock.monotonic_ms()
        )
        response = FetchResponse(
            session_id=session_id,
            responses=await _by_topic(changed, turns),
            node_endpoints=leaders.endpoints(),
        )
    except BaseException:
        delayed_fetch.release(results)
        raise
    if params.readers is not None:
        broker.sessions.keep_readers(
            fetch_context,
            [(each, result.reader) for each, result in read if result.reader is not None],
        )
    return response


def error_response(
    _: FetchRequest,
    error: KafkaError,
    *,
    version: int,  # noqa: ARG001 - as dispatch calls it
) -> FetchResponse:
    """Return the response that carries an error of the session; nothing has been read."""
    return FetchResponse(error_code=error.code, responses=[])


def _params(
    broker: BrokerServices,
    request: FetchRequest,
    fetch_context: FetchContext,
    *,
    context: RequestContext,
) -> FetchParams:
    session, partitions = fetch_context.session, len(fetch_context.requested)
    version = context.api_version
    max_bytes = min(request.max_bytes, broker.configs.integer("fetch.max.bytes"))
    state = request.replica_state
    replica_id = request.replica_id if state is None else state.replica_id
    is_replica = replica_id >= 0
    # The fetch offsets of followers are stored at each fetch, and zstd is looked up. The wait for
    # a single partition counts its bytes.
    has_readers = not is_replica and version >= _FIRST_WITH_ZSTD and partitions > 1
    return FetchParams(
        max_bytes=max_bytes,
        min_bytes=min(request.min_bytes, max_bytes),
        max_wait_ms=min(
            request.max_wait_ms, _LARGE_WAIT_MS if partitions > ELEMENTS_PER_TURN else INT32_MAX
        ),
        isolation=FetchIsolation.LOG_END if is_replica else isolation_of(request.isolation_level),
        replica_id=replica_id if is_replica else CONSUMER,
        broker_epoch=NO_BROKER_EPOCH if state is None else state.replica_epoch,
        needs_leader=is_replica or version < _FIRST_WITH_RACK,
        selection=None if is_replica else _selection(broker, request.rack_id, context=context),
        readers=session.readers if session is not None and has_readers else None,
        quota=broker.throttles.leader if is_replica else None,
    )


def _selection(
    broker: BrokerServices, rack: str, *, context: RequestContext
) -> ReplicaSelection | None:
    """Return the racks by which a leader selects another replica; None if it does not."""
    is_selecting = (
        bool(rack) and broker.configs.text("replica.selector.class") == RACK_AWARE_SELECTOR
    )
    if not is_selecting:
        return None
    reachable = broker.metadata.image.endpoints_of(context.connection.listener)
    racks = {each.node_id: each.rack for each, _ in reachable}
    return ReplicaSelection(rack, racks, broker.partitions.node_id)


async def _fetches(
    broker: BrokerServices,
    requested: Sequence[CachedPartition],
    params: FetchParams,
    *,
    version: int,
    turns: LoopTurns,
) -> list[PartitionFetch | IdleReader]:
    """Return the readers that are idle, and the fetch positions of the other partitions."""
    found = list[PartitionFetch | IdleReader]()
    has_readers, isolation = params.readers is not None, params.isolation
    for begin in range(0, len(requested), _LOOKUPS_AT_A_TIME):
        if turns.is_over:
            await turns.pause()
        for each in requested[begin : begin + _LOOKUPS_AT_A_TIME]:
            reader = each.idle_reader(isolation) if has_readers else None
            found.append(
                reader
                if isinstance(reader, IdleReader)
                else _partition_fetch(broker, each, version=version)
            )
    return found


def _partition_fetch(
    broker: BrokerServices, cached: CachedPartition, *, version: int
) -> PartitionFetch:
    source: Partition | KafkaError
    try:
        source = broker.partitions.get(*cached.key)
        if version < _FIRST_WITH_ZSTD:
            _ensure_codec_supported(source)
    except KafkaError as error:
        source = error.with_traceback(None)  # its frames refer to `source`
    wanted = cached.wanted
    return PartitionFetch(
        source,
        wanted.fetch_offset,
        wanted.partition_max_bytes,
        wanted.current_leader_epoch,
        wanted.last_fetched_epoch,
        wanted.log_start_offset,
    )


def _ensure_codec_supported(partition: Partition) -> None:
    if partition.log.config.compression_type == Codec.ZSTD.name.lower():
        raise UnsupportedCompressionTypeError(
            f"{partition.name} is compressed with zstd, which fetch supports from version "
            f"{_FIRST_WITH_ZSTD}"
        )


def _keyed_data(
    fetched: tuple[CachedPartition, PartitionFetchResult],
    *,
    leaders: CurrentLeaders | None,
) -> KeyedData:
    cached, result = fetched
    return cached.key, _data(cached.key, result, leaders)


def _data(key: Key, result: PartitionFetchResult, leaders: CurrentLeaders | None) -> PartitionData:
    """Return a result; `leaders` add the current leader if the reader used another one."""
    read, divergence = result.read, result.divergence
    if read is None:
        data = PartitionData(
            partition_index=key[1],
            error_code=0 if result.error is None else result.error.code,
            high_watermark=_NONE,
            aborted_transactions=None,
            records=b"",
        )
        if leaders is not None and data.error_code in _OF_LEADERSHIP:
            data.current_leader = leaders.find(*key)
        return data
    data = PartitionData(
        partition_index=key[1],
        error_code=0,
        high_watermark=read.high_watermark,
        last_stable_offset=read.last_stable,
        log_start_offset=read.log_start,
        aborted_transactions=None if read.aborted is None else _in_order(read.aborted),
        records=b"" if read.slice is None else read.slice,
    )
    data.preferred_read_replica = result.preferred_read_replica
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


async def _by_topic(
    partitions: Iterable[KeyedData], turns: LoopTurns
) -> list[FetchableTopicResponse]:
    topics: dict[TopicRef, FetchableTopicResponse] = {}
    for (topic, _), data in partitions:
        if turns.is_over:
            await turns.pause()
        if topic not in topics:
            topics[topic] = _topic(topic)
        topics[topic].partitions.append(data)
    return list(topics.values())


def _topic(topic: TopicRef) -> FetchableTopicResponse:
    if isinstance(topic, str):
        return FetchableTopicResponse(topic=topic, partitions=[])
    return FetchableTopicResponse(topic_id=topic, partitions=[])

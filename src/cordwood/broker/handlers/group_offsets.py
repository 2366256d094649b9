"""Handlers of committed offsets: commits, also in transactions, fetches and deletions.

Kafka: `KafkaApis.handleOffsetCommitRequest`, `handleTxnOffsetCommitRequest`,
`handleOffsetFetchRequest`, `handleOffsetDeleteRequest`. An error of the whole request is that of
each partition, unless the response has a place for it.
"""

from collections.abc import Iterable
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Final

from cordwood.broker.coordinators.coordinator_log import CoordinatorLog
from cordwood.broker.coordinators.transaction_verifier import ProducerTransaction
from cordwood.broker.handlers.request_client import client_of
from cordwood.broker.handlers.topic_pieces import are_few, join, pieces
from cordwood.broker.loop_turns import LoopTurns
from cordwood.broker.network.pending_response import PendingResponse
from cordwood.broker.network.request_context import RequestContext
from cordwood.broker.services import BrokerServices
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.offsets.offset_delete import distinct_topics
from cordwood.coordination.outcome import Outcome, Ticket, TransactionalProducer
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
    RequestTimedOutError,
)
from cordwood.core.types import NO_OFFSET
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from cordwood.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponseTopic,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from cordwood.storage.producers.verification_guard import VerificationGuard

if TYPE_CHECKING:
    import asyncio

    from cordwood.protocol.schema import Response

_FETCHED: Final = "partition_indexes"
_FIRST_FETCH_OF_GROUPS: Final = 8
_FIRST_FETCH_WITH_ERROR: Final = 2
_FIRST_TXN_WITH_LOADING: Final = 2


async def offset_commit(
    broker: BrokerServices, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | PendingResponse:
    """Commit offsets of a group."""
    if are_few(request.topics, "partitions"):
        return _begin_commit(broker, context, request)
    turns = LoopTurns(broker.turns)
    topics = list[OffsetCommitResponseTopic]()
    async for each in turns.of(pieces(request.topics, "partitions")):
        part = copy(request)
        part.topics = each
        join(topics, (await _committed(broker, context, part)).topics, "name", "topic_id")
    return OffsetCommitResponse(topics=topics)


async def _committed(
    broker: BrokerServices, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse:
    response: Response | PendingResponse = _begin_commit(broker, context, request)
    if isinstance(response, PendingResponse):
        response = await response.response()
    assert isinstance(response, OffsetCommitResponse)
    return response


def _begin_commit(
    broker: BrokerServices, context: RequestContext, request: OffsetCommitRequest
) -> OffsetCommitResponse | PendingResponse:
    """Commit the offsets; the response is pending until their append counts."""
    client = client_of(context)
    try:
        future = broker.coordinators.groups.begin(
            request.group_id,
            lambda shard, ticket, now_ms: shard.offset_commit(
                request, client, ticket=ticket, now_ms=now_ms
            ),
        )
    except KafkaError as error:
        return _failed_commit(request, error)
    _limit(future, broker)
    return PendingResponse(future, partial(_failed_commit, request))


def _limit(future: "asyncio.Future[Response]", broker: BrokerServices) -> None:
    """Let a commit time out whose records do not count soon enough; they stay in the log."""
    if future.done():
        return
    limit_ms = broker.configs.integer("offsets.commit.timeout.ms")

    def time_out() -> None:
        if not future.done():
            future.set_exception(
                RequestTimedOutError(f"the commit is not replicated within {limit_ms} ms")
            )

    timer = broker.scheduler.call_at(broker.clock.monotonic_ms() + limit_ms, time_out)
    future.add_done_callback(lambda _: timer.cancel())


def _failed_commit(request: OffsetCommitRequest, error: KafkaError) -> OffsetCommitResponse:
    """Return the response with one error for all partitions."""
    code = error.code
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=code
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def txn_offset_commit(
    broker: BrokerServices, context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse:
    """Commit offsets in a transaction, which is verified first, or gets the partition added."""
    if are_few(request.topics, "partitions"):
        return await _committed_in_transaction(broker, context, request)
    turns = LoopTurns(broker.turns)
    topics = list[TxnOffsetCommitResponseTopic]()
    async for each in turns.of(pieces(request.topics, "partitions")):
        part = copy(request)
        part.topics = each
        join(topics, (await _committed_in_transaction(broker, context, part)).topics, "name")
    return TxnOffsetCommitResponse(topics=topics)


async def _committed_in_transaction(
    broker: BrokerServices, context: RequestContext, request: TxnOffsetCommitRequest
) -> TxnOffsetCommitResponse:
    client, groups = client_of(context), broker.coordinators.groups
    try:
        partition = groups.partition_of(request.group_id)
        groups.runtime.ensure_active(partition)
        log, guard = broker.coordinators.group_log(partition), None
        if any(topic.name in broker.metadata.image.topics for topic in request.topics):
            guard = await _verify(broker, context, request, log=log)

        def commit(  # tidy: allow[positional] as ShardMethod
            shard: GroupShard, ticket: Ticket, now_ms: int
        ) -> Outcome:
            outcome = shard.txn_offset_commit(request, client, ticket=ticket, now_ms=now_ms)
            log.guard = guard if outcome.records else None
            return outcome

        future = groups.runtime.begin(partition, commit)
        _limit(future, broker)
        response = await future
    except KafkaError as error:
        code = _txn_code(error, context.api_version)
    else:
        assert isinstance(response, TxnOffsetCommitResponse), "the answer of this method"
        return response
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=code
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _verify(
    broker: BrokerServices,
    context: RequestContext,
    request: TxnOffsetCommitRequest,
    *,
    log: CoordinatorLog,
) -> VerificationGuard | None:
    producer = TransactionalProducer(request.producer_id, request.producer_epoch)
    return await broker.coordinators.verifier.verify_offsets(
        ProducerTransaction(request.transactional_id, producer),
        log,
        api_version=context.api_version,
    )


def _txn_code(error: KafkaError, version: int) -> int:
    """Return the error of a coordinator; old clients do not retry while it is loaded."""
    is_loading = isinstance(error, CoordinatorLoadInProgressError)
    if is_loading and version < _FIRST_TXN_WITH_LOADING:
        return CoordinatorNotAvailableError.code
    return error.code


async def offset_fetch(
    broker: BrokerServices, context: RequestContext, request: OffsetFetchRequest
) -> OffsetFetchResponse:
    """Return the committed offsets of one group, from version 8 on of several.

    A group that is named twice is answered once, and so is a partition: metadata of 4 KiB could be
    repeated 49,000 times.
    """
    if context.api_version < _FIRST_FETCH_OF_GROUPS:
        single = OffsetFetchRequestGroup(group_id=request.group_id, topics=request.topics)
        try:
            found = await _fetch_group(broker, context, request, group=single)
        except KafkaError as error:
            return _failed_fetch(request, error.code, version=context.api_version)
        return OffsetFetchResponse(topics=found.topics, error_code=found.error_code)
    groups = list[OffsetFetchResponseGroup]()
    async for each in LoopTurns(broker.turns).of(_distinct_groups(request.groups)):
        try:
            groups.append(await _fetch_group(broker, context, request, group=each))
        except KafkaError as error:
            groups.append(
                OffsetFetchResponseGroup(group_id=each.group_id, topics=[], error_code=error.code)
            )
    return OffsetFetchResponse(groups=groups)


async def _fetch_group(
    broker: BrokerServices,
    context: RequestContext,
    request: OffsetFetchRequest,
    *,
    group: OffsetFetchRequestGroup,
) -> OffsetFetchResponseGroup:
    """Return the offsets of one group; those of many partitions in several turns."""
    if group.topics is None:
        wanted = await _all_topics(broker, group.group_id)
    else:
        wanted = group.topics = _distinct_fetched(group.topics)
    if are_few(wanted, _FETCHED):
        return await _fetch(broker, context, request, group=group, is_part_of_all=False)
    found = OffsetFetchResponseGroup(group_id=group.group_id, topics=[])
    async for topics in LoopTurns(broker.turns).of(pieces(wanted, _FETCHED)):
        part = copy(group)
        part.topics = topics
        answer = await _fetch(
            broker, context, request, group=part, is_part_of_all=group.topics is None
        )
        if answer.error_code:
            return answer
        join(found.topics, answer.topics, "name", "topic_id")
    return found


def _distinct_groups(groups: Iterable[OffsetFetchRequestGroup]) -> list[OffsetFetchRequestGroup]:
    """Return each group once, with the topics of all its entries, for the member of the first."""
    found = dict[str, OffsetFetchRequestGroup]()
    for each in groups:
        first = found.setdefault(each.group_id, each)
        if first is each or first.topics is None:
            continue
        if each.topics is None:
            first.topics = None
        else:
            first.topics += each.topics
    return [*found.values()]


def _distinct_fetched(topics: Iterable[OffsetFetchRequestTopic]) -> list[OffsetFetchRequestTopic]:
    """Return each topic once, with each partition once."""
    found = dict[tuple[str, Uuid], OffsetFetchRequestTopic]()
    for each in topics:
        first = found.setdefault((each.name, each.topic_id), each)
        if first is not each:
            first.partition_indexes += each.partition_indexes
    for each in found.values():
        each.partition_indexes = [*dict.fromkeys(each.partition_indexes)]
    return [*found.values()]


async def _all_topics(broker: BrokerServices, group_id: str) -> list[OffsetFetchRequestTopic]:
    """Return the topics that null topics stand for, at this moment."""
    groups = broker.coordinators.groups
    committed = await groups.runtime.read(
        groups.partition_of(group_id), lambda shard: shard.committed_partitions(group_id)
    )
    return [
        OffsetFetchRequestTopic(name=name, partition_indexes=numbers)
        for name, numbers in committed.items()
    ]


async def _fetch(
    broker: BrokerServices,
    context: RequestContext,
    request: OffsetFetchRequest,
    *,
    group: OffsetFetchRequestGroup,
    is_part_of_all: bool,
) -> OffsetFetchResponseGroup:
    """Return the offsets of a group, or of some of its partitions."""
    client = client_of(context)
    is_stable, has_groups = request.require_stable, context.api_version >= _FIRST_FETCH_OF_GROUPS
    if has_groups:
        one = OffsetFetchRequest(groups=[group], require_stable=is_stable)
    else:
        one = OffsetFetchRequest(
            group_id=group.group_id, topics=group.topics, require_stable=is_stable
        )
    answer = await broker.coordinators.groups.call(
        group.group_id,
        lambda shard, ticket, now_ms: shard.offset_fetch(
            one, client, ticket=ticket, now_ms=now_ms, is_part_of_all=is_part_of_all
        ),
        answer=OffsetFetchResponse,
    )
    if has_groups:
        return answer.groups[0]
    return OffsetFetchResponseGroup(
        group_id=group.group_id, topics=answer.topics, error_code=answer.error_code
    )


def _failed_fetch(request: OffsetFetchRequest, code: int, *, version: int) -> OffsetFetchResponse:
    if version >= _FIRST_FETCH_WITH_ERROR:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=number,
                        committed_offset=NO_OFFSET,
                        metadata="",
                        error_code=code,
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in request.topics or []
        ]
    )


async def offset_delete(
    broker: BrokerServices, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    """Delete committed offsets of topics to which no member subscribes."""
    turns = LoopTurns(broker.turns)
    topics = list[OffsetDeleteResponseTopic]()
    async for each in turns.of(pieces(distinct_topics(request.topics), "partitions")):
        part = OffsetDeleteRequest(group_id=request.group_id, topics=each)
        response = await _deleted(broker, context, part)
        if response.error_code:
            return response
        join(topics, response.topics, "name")
    return OffsetDeleteResponse(error_code=0, topics=topics)


async def _deleted(
    broker: BrokerServices, context: RequestContext, request: OffsetDeleteRequest
) -> OffsetDeleteResponse:
    client = client_of(context)
    try:
        return await broker.coordinators.groups.call(
            request.group_id,
            lambda shard, ticket, now_ms: shard.offset_delete(
                request, client, ticket=ticket, now_ms=now_ms
            ),
            answer=OffsetDeleteResponse,
        )
    except KafkaError as error:
        return OffsetDeleteResponse(error_code=error.code, topics=[])

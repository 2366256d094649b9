"""The requests of the protocol, performed by the admin client.

Requests about several transactions run in parallel. Retriable errors are retried by the client
until `default.api.timeout.ms`, and raised then: the outcome is unknown.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeVar, cast

from cordwood.client.admin.admin_client import Admin
from cordwood.client.group_offset import GroupOffset
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import (
    CordwoodError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    KafkaError,
    ProducerFencedError,
    SparkError,
    TransactionalIdNotFoundError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from cordwood.core.ports import Clock
from cordwood.spark.sink.exactly_once.intent_record import parts_in
from cordwood.spark.sink.exactly_once.record_access import only_topic
from cordwood.spark.sink.exactly_once.sink_requests import (
    ONGOING,
    CountPartitions,
    Describe,
    End,
    Ended,
    EndResult,
    Fence,
    IdState,
    ListOpen,
    Now,
    ReadRecord,
    SinkRequest,
    Steps,
    WriteRecord,
)

R = TypeVar("R")

_RESULTS: Final[Mapping[type[KafkaError], EndResult]] = {
    ProducerFencedError: EndResult.FENCED,
    InvalidProducerEpochError: EndResult.FENCED,
    InvalidTxnStateError: EndResult.INVALID_STATE,
    InvalidProducerIdMappingError: EndResult.UNKNOWN_ID,
}


class RequestRunner:
    """Runs steps of the protocol on the loop of an admin client."""

    def __init__(self, admin: Admin, clock: Clock, *, record_topic: str | None) -> None:
        self._admin = admin
        self._clock = clock
        #: The record's topic; without one, that of the group's offsets.
        self._topic = record_topic
        #: The number of its partitions; 0 before it is known. Partitions are only ever added.
        self._partitions = 0
        self._answers: Mapping[type, Callable[[SinkRequest[object]], Awaitable[object]]] = {
            Fence: self._fence,
            ReadRecord: self._read_record,
            WriteRecord: self._write_record,
            ListOpen: self._list_open,
            Describe: self._describe,
            End: self._end,
            CountPartitions: self._count_partitions,
            Now: self._now,
        }

    async def run(self, steps: Steps[R]) -> R:
        """Run steps to their end, and return their result."""
        try:
            request = next(steps)
            while True:
                try:
                    answer = await self.perform(request)
                except CordwoodError as error:
                    request = steps.throw(error)
                else:
                    request = steps.send(answer)
        except StopIteration as end:
            return cast("R", end.value)

    async def perform(self, request: SinkRequest[object]) -> object:
        """Perform one request."""
        return await self._answers[type(request)](request)

    async def _fence(self, request: SinkRequest[object]) -> TransactionHandle:
        assert isinstance(request, Fence)
        name = request.transactional_id
        return (await self._admin.fence_producers([name], timeout_ms=request.timeout_ms))[name]

    async def _read_record(self, request: SinkRequest[object]) -> dict[int, str]:
        assert isinstance(request, ReadRecord)
        if self._topic is None:
            return await self._find_record(request.group)
        try:
            count = await self._known_partitions(1)
        except UnknownTopicOrPartitionError:
            count = 0  # the first batch creates the topic
        found = await self._fetch_record(request.group, self._topic, partitions=count)
        if not found:
            await self._ensure_unkeyed(request.group, self._topic)
        if parts_in(found) > max(count, 1):  # another process uses partitions that were added
            count = await self._known_partitions(parts_in(found))
            found = await self._fetch_record(request.group, self._topic, partitions=count)
        return found

    async def _fetch_record(self, group: str, topic: str, *, partitions: int) -> dict[int, str]:
        # Kafka answers for all partitions of a group only with those that have an offset. So a
        # first offset that is not stable yet would be missing, instead of being waited for.
        wanted = [(topic, number) for number in range(partitions)]
        found = await self._admin.list_group_offsets(group, wanted, require_stable=True)
        return {each.partition: offset.metadata for each, offset in found.items()}

    async def _ensure_unkeyed(self, group: str, topic: str) -> None:
        """Raise SparkError if another topic than the record's has offsets of the group."""
        offsets = await self._admin.list_group_offsets(group)
        others = sorted({each.topic for each in offsets} - {topic})
        if others:
            raise SparkError(
                f"the group {group!r} has offsets of {', '.join(others)}, and the sink looks for an"
                f" intent record in {topic}",
                remedy=f"set recordTopic to {others[0]} if an earlier run has its record there;"
                " otherwise give the sink a name that no other program has (transactionalIdPrefix,"
                " or jobId)",
            )

    async def _find_record(self, group: str) -> dict[int, str]:
        """Return the metadata of the only topic that the group has offsets of."""
        offsets = await self._admin.list_group_offsets(group, require_stable=True)
        self._topic, metadata = only_topic(group, offsets)
        return metadata

    async def _write_record(self, request: SinkRequest[object]) -> None:
        assert isinstance(request, WriteRecord)
        topic = self._known_topic()
        offsets = {
            (topic, number): GroupOffset(request.batch, part)
            for number, part in enumerate(request.parts)
        }
        await self._admin.commit_transaction_offsets(request.driver, request.group, offsets=offsets)

    async def _list_open(self, _: SinkRequest[object]) -> tuple[str, ...] | None:
        try:
            found = await self._admin.list_transactions(states=[ONGOING])
        except UnsupportedVersionError:
            return None
        return tuple(each.transactional_id for each in found)

    async def _describe(self, request: SinkRequest[object]) -> dict[str, IdState] | None:
        assert isinstance(request, Describe)
        try:
            found = await asyncio.gather(*map(self._state_of, request.transactional_ids))
        except UnsupportedVersionError:
            return None
        return {
            name: state
            for name, state in zip(request.transactional_ids, found, strict=True)
            if state is not None
        }

    async def _state_of(self, name: str) -> IdState | None:
        try:
            (found,) = await self._admin.describe_transactions([name])
        except TransactionalIdNotFoundError:
            return None
        return IdState(found.state, found.producer_id, found.epoch, found.start_ms)

    async def _end(self, request: SinkRequest[object]) -> dict[TransactionHandle, Ended]:
        assert isinstance(request, End)
        return await self._ended(request.handles, commit=request.commit)

    async def _ended(
        self, handles: Iterable[TransactionHandle], *, commit: bool
    ) -> dict[TransactionHandle, Ended]:
        each = list(handles)
        found = await asyncio.gather(*(self._end_one(handle, commit=commit) for handle in each))
        return dict(zip(each, found, strict=True))

    async def _end_one(self, handle: TransactionHandle, *, commit: bool) -> Ended:
        try:
            after = await self._admin.end_transaction(handle, commit=commit)
        except tuple(_RESULTS) as error:
            return Ended(_RESULTS[type(error)], handle)
        return Ended(EndResult.ENDED, after)

    async def _count_partitions(self, request: SinkRequest[object]) -> int:
        assert isinstance(request, CountPartitions)
        # A batch without rows has created no topic, and its record needs one.
        return await self._known_partitions(request.wanted, creates_topic=True)

    async def _known_partitions(self, wanted: int, *, creates_topic: bool = False) -> int:
        """Return the number of partitions, read if fewer than `wanted` are known."""
        if self._partitions < wanted:
            (topic,) = await self._admin.describe_topics(
                [self._known_topic()], creates_topics=creates_topic
            )
            self._partitions = len(topic.partitions)
        return self._partitions

    def _known_topic(self) -> str:
        assert self._topic is not None, "a record is replaced only where it was found"
        return self._topic

    async def _now(self, _: SinkRequest[object]) -> int:
        return self._clock.now_ms()

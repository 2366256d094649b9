"""The blocking consumer: the consumer of `aio`, with the user's callbacks on the calling thread.

A rebalance callback runs on the thread whose call it interrupts, so that it may call the consumer,
such as to commit.
"""

import ssl
from collections.abc import (
    AsyncGenerator,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Generic, Self, TypeVar, Unpack, cast

from cordwood.client import aio
from cordwood.client.blocking_client import BlockingClient
from cordwood.client.caller_calls import CallerCalls
from cordwood.client.consumer.completed_fetch import CompletedFetch, ConsumedRecord
from cordwood.client.consumer.group_subscription import (
    CLOSE_MS,
    CommitCallback,
    OffsetValue,
    RebalanceCallback,
)
from cordwood.client.consumer.offset_fetcher import FoundOffset
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.serializers import Deserializers, ReadK, ReadV
from cordwood.client.settings import ConsumerOptions, ConsumerSettings, options_of
from cordwood.core.types import TopicPartition

if TYPE_CHECKING:
    from cordwood.client.consumer.column_batches import ColumnBatch

T = TypeVar("T")


class Consumer(BlockingClient, Generic[ReadK, ReadV]):
    """Consumer; `ReadK` and `ReadV` are the types of its deserializers."""

    def __init__(
        self,
        bootstrap: str = "",
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        group: str | None = None,
        tls: ssl.SSLContext | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        self._consumer = aio.Consumer(
            bootstrap, deserializers=deserializers, group=group, tls=tls, **options
        )
        self._calls = CallerCalls()
        super().__init__(self._consumer, self._consumer.close)

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, object],
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        """Return a consumer configured by Kafka's setting names."""
        options = cast("ConsumerOptions", options_of(ConsumerSettings, config))
        return cls(deserializers=deserializers, tls=tls, **options)

    def close(self, *, leave_group: bool | None = None, timeout_ms: float = CLOSE_MS) -> None:
        """Commit, leave the group and close the consumer and its thread.

        A static member stays in its group until its session ends, unless `leave_group` is True.
        """
        self._consumer.ensure_no_rebalance()
        try:
            if self._finalize.alive:
                self._run(self._consumer.leave(leave_group=leave_group, timeout_ms=timeout_ms))
        finally:
            super().close()

    def subscribe(
        self,
        topics: Iterable[str] | None = None,
        *,
        pattern: str | None = None,
        on_assigned: RebalanceCallback | None = None,
        on_revoked: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
    ) -> None:
        """Consume topics as a member of the group, which assigns partitions from the next poll on.

        A pattern matches whole names: with Python's `re`, or with RE2 if group_protocol=consumer.
        Callbacks run in calls of this consumer; without `on_lost`, `on_revoked` is called.
        """
        self._thread.call(
            lambda: self._consumer.subscribe(
                topics,
                pattern=pattern,
                on_assigned=self._on_caller(on_assigned),
                on_revoked=self._on_caller(on_revoked),
                on_lost=self._on_caller(on_lost),
            )
        )

    def unsubscribe(self) -> None:
        """Leave the group, or end the assignment."""
        self._run(self._consumer.unsubscribe())

    def subscription(self) -> frozenset[str]:
        """Return the subscribed topics; empty for a pattern."""
        return self._consumer.subscription()

    def commit(
        self,
        offsets: Mapping[tuple[str, int], OffsetValue] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit offsets, by default the positions; the default timeout is that of a call."""
        self._thread.run(self._consumer.commit(offsets, timeout_ms=timeout_ms))

    def commit_async(
        self,
        offsets: Mapping[tuple[str, int], OffsetValue] | None = None,
        *,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit in the background; a later poll calls `callback(offsets, error)`."""
        handed_over = None if callback is None else self._calls.handed_over(callback)
        self._thread.call(lambda: self._consumer.commit_async(offsets, callback=handed_over))

    def committed(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, GroupOffset | None]:
        """Return the group's committed offset of each partition, None where there is none."""
        return self._thread.run(self._consumer.committed(partitions))

    def group_metadata(self) -> GroupMetadata:
        """Return the group and this member, for a transaction that commits its offsets."""
        return self._thread.call(self._consumer.group_metadata)

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Assign partitions; those that were assigned before keep their positions."""
        self._thread.call(lambda: self._consumer.assign(partitions))

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return the assigned partitions."""
        return self._consumer.assignment()

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        """Set the position of a partition."""
        self._thread.call(lambda: self._consumer.seek(partition, offset))

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Set positions to the log start offset, of all partitions if none is given."""
        self._thread.call(lambda: self._consumer.seek_to_beginning(*partitions))

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Set positions to the end of the log, of all partitions if none is given."""
        self._thread.call(lambda: self._consumer.seek_to_end(*partitions))

    def seek_to_timestamp(self, timestamp_ms: int, *partitions: tuple[str, int]) -> None:
        """Set positions to the first record at or after a timestamp, else to the end."""
        self._thread.call(lambda: self._consumer.seek_to_timestamp(timestamp_ms, *partitions))

    def pause(self, *partitions: tuple[str, int]) -> None:
        """Return no records of these partitions until `resume`."""
        self._thread.call(lambda: self._consumer.pause(*partitions))

    def resume(self, *partitions: tuple[str, int]) -> None:
        """Return records of these partitions again."""
        self._thread.call(lambda: self._consumer.resume(*partitions))

    def position(self, partition: tuple[str, int]) -> int:
        """Return the offset of the next record, as soon as it is resolved."""
        return self._thread.run(self._consumer.position(partition))

    def beginning_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return the log start offset of each partition."""
        return self._thread.run(self._consumer.beginning_offsets(partitions))

    def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return each partition's next offset, the last stable one under read_committed."""
        return self._thread.run(self._consumer.end_offsets(partitions))

    def offsets_for_times(
        self, timestamps_ms: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset | None]:
        """Return the first offset at or after each timestamp, None if there is none."""
        return self._thread.run(self._consumer.offsets_for_times(timestamps_ms))

    def ends_of_epochs(self, epochs: Mapping[tuple[str, int], int]) -> dict[TopicPartition, int]:
        """Return where each partition's leader epoch ends; -1 if its leader does not know it."""
        return self._thread.run(self._consumer.ends_of_epochs(epochs))

    def poll(
        self, timeout_ms: float = 1_000, *, max_records: int | None = None
    ) -> list[ConsumedRecord[ReadK, ReadV]]:
        """Return the next records of one partition; an empty list after the timeout."""
        return self._run(self._consumer.poll(timeout_ms, max_records=max_records))

    def __iter__(self) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        """Yield records forever."""
        while True:
            yield from self.poll()

    def columns(
        self, columns: Sequence[str] | None = None, *, timeout_ms: float | None = None
    ) -> Iterator["ColumnBatch"]:
        """Yield Arrow record batches with their partition, without creating a Python object per
        record.

        Ends after `timeout_ms` without records; without a timeout it does not end.
        """
        return self._each(self._consumer.columns(columns, timeout_ms=timeout_ms))

    def record_sets(
        self, *, timeout_ms: float | None = None
    ) -> Generator[CompletedFetch, None, None]:
        """Yield completed fetches, for callers that decode them themselves.

        `CompletedFetch.end` tracks how far the log was read, even where no record is left. A caller
        that stops at an offset can therefore detect that the offset is reached. Ends as `columns`
        does.
        """
        return self._each(self._consumer.record_sets(timeout_ms=timeout_ms))

    def _each(self, items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        """Yield the items of an asynchronous generator on the loop."""

        async def following() -> T | None:
            return await anext(items, None)

        try:
            while (item := self._run(following())) is not None:
                yield item
        finally:
            self._thread.run(items.aclose())

    def _run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine on the loop, and the user's callbacks in it on this thread."""
        if self._consumer.settings.group_id is None:
            return self._thread.run(work)
        return self._calls.run(self._thread, work)

    def _on_caller(self, callback: RebalanceCallback | None) -> RebalanceCallback | None:
        return None if callback is None else self._calls.handed_over(callback)

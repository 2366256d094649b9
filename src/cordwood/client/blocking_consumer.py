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
from typing import TYPE_CHECKING, Self, TypeVar, Unpack, cast

from cordwood.client import aio
from cordwood.client.blocking_client import BlockingClient
from cordwood.client.blocking_positions import BlockingPositions
from cordwood.client.caller_calls import CallerCalls
from cordwood.client.consumer.completed_fetch import CompletedFetch, ConsumedRecord
from cordwood.client.consumer.group_subscription import (
    CLOSE_MS,
    CommitCallback,
    OffsetValue,
    RebalanceCallback,
)
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.option_signature import named_options
from cordwood.client.serializers import Deserializers, ReadK, ReadV
from cordwood.client.settings import ConsumerOptions, ConsumerSettings, options_of
from cordwood.core.types import TopicPartition

if TYPE_CHECKING:
    from cordwood.client.consumer.column_batches import ColumnBatch

T = TypeVar("T")


@named_options(ConsumerSettings)
class Consumer(BlockingPositions[ReadK, ReadV], BlockingClient):
    """Consumer; `ReadK` and `ReadV` are the types of its deserializers.

    >>> with cordwood.Consumer(
    ...     "127.0.0.1:9092", group="billing", auto_offset_reset="earliest"
    ... ) as consumer:
    ...     consumer.subscribe(["orders"])
    ...     for record in consumer:
    ...         print(record.offset, record.value)
    ...         break
    0 b'3 beams'
    """

    def __init__(
        self,
        bootstrap: str = "",
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        group: str | None = None,
        tls: ssl.SSLContext | None = None,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        """Create and start a consumer; close it with `with` or `close`.

        Args:
            bootstrap: Addresses of brokers as host:port, with commas between them.
            deserializers: Functions that decode keys and values; without them they are bytes.
            group: The group of the consumer, short for `group_id`.
            tls: TLS context for security_protocol=SSL, by default with the system's certificates.
        """
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
        """Return a consumer configured by Kafka's setting names.

        >>> config = {"bootstrap.servers": "127.0.0.1:9092", "group.id": "billing"}
        >>> with cordwood.Consumer.from_config(config) as consumer:
        ...     consumer.settings.group_id
        'billing'
        """
        options = cast("ConsumerOptions", options_of(ConsumerSettings, config))
        return cls(deserializers=deserializers, tls=tls, **options)

    def close(self, *, leave_group: bool | None = None, timeout_ms: float = CLOSE_MS) -> None:
        """Commit, leave the group and close the consumer and its thread.

        A static member stays in its group until its session ends, unless `leave_group` is True.

        Args:
            leave_group: Whether to leave the group, by default if the member is not static.
            timeout_ms: Maximum time for the commit and the leave.

        >>> consumer.close()
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

        Args:
            topics: Names of topics.
            pattern: Pattern of names, in place of names.
            on_assigned: Called with the partitions that are new.
            on_revoked: Called with the partitions that go, before they go; commit here.
            on_lost: Called with partitions that another member may have already.

        >>> consumer.subscribe(["orders"], on_assigned=lambda new: print(sorted(new)[0]))
        >>> records = consumer.poll()
        orders-0
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
        """Leave the group, or end the assignment.

        >>> consumer.subscribe(["orders"])
        >>> consumer.unsubscribe()
        """
        self._run(self._consumer.unsubscribe())

    def subscription(self) -> frozenset[str]:
        """Return the subscribed topics; empty for a pattern.

        >>> consumer.subscribe(["orders"])
        >>> consumer.subscription()
        frozenset({'orders'})
        """
        return self._consumer.subscription()

    def commit(
        self,
        offsets: Mapping[tuple[str, int], OffsetValue] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit offsets, and wait for the answer.

        Args:
            offsets: By topic and partition, the offset of the next record to read; by default the
                positions.
            timeout_ms: Maximum wait, by default `default_api_timeout_ms`.

        >>> consumer.assign([("orders", 0)])
        >>> records = consumer.poll()
        >>> consumer.commit()
        >>> consumer.committed([("orders", 0)])[("orders", 0)].offset
        3
        """
        self._thread.run(self._consumer.commit(offsets, timeout_ms=timeout_ms))

    def commit_async(
        self,
        offsets: Mapping[tuple[str, int], OffsetValue] | None = None,
        *,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit in the background.

        Args:
            offsets: As for `commit`.
            callback: A later poll calls it with the offsets and the error, None if there is none.

        >>> consumer.assign([("orders", 0)])
        >>> consumer.commit_async({("orders", 0): 2})
        """
        handed_over = None if callback is None else self._calls.handed_over(callback)
        self._thread.call(lambda: self._consumer.commit_async(offsets, callback=handed_over))

    def committed(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, GroupOffset | None]:
        """Return the group's committed offset of each partition, None where there is none.

        >>> consumer.committed([("orders", 0)])
        {TopicPartition(topic='orders', partition=0): None}
        """
        return self._thread.run(self._consumer.committed(partitions))

    def group_metadata(self) -> GroupMetadata:
        """Return the group and this member, for a transaction that commits its offsets.

        >>> consumer.group_metadata().group_id
        'shipping'
        """
        return self._thread.call(self._consumer.group_metadata)

    def poll(
        self, timeout_ms: float = 1_000, *, max_records: int | None = None
    ) -> list[ConsumedRecord[ReadK, ReadV]]:
        """Return the next records of one partition; an empty list after the timeout.

        Args:
            timeout_ms: Maximum wait for the first record.
            max_records: Maximum number of records, by default `max_poll_records`.

        >>> consumer.assign([("orders", 0)])
        >>> [record.value for record in consumer.poll(max_records=2)]
        [b'3 beams', b'4 posts']
        """
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

        Args:
            columns: Names of columns, as of `cordwood.open_log(...).arrow`; by default all.
            timeout_ms: Time without records after which the iterator ends; by default it goes on.

        >>> consumer.assign([("orders", 0)])
        >>> for batch in consumer.columns(["offset", "value"]):
        ...     batch.partition, batch.batch.num_rows
        ...     break
        (TopicPartition(topic='orders', partition=0), 3)
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

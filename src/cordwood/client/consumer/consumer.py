"""The asyncio consumer (Java: `KafkaConsumer`): of assigned partitions, or as member of a group.

The consumer prefetches between polls. Records of one partition come in offset order; partitions
take turns. `poll` raises an error after all records before it.
"""

import ssl
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Generic, Self, TypeAlias, Unpack, cast

from cordwood.client.consumer.completed_fetch import CompletedFetch, ConsumedRecord
from cordwood.client.consumer.consumer_repr import consumer_repr
from cordwood.client.consumer.consumer_settings import consumer_settings
from cordwood.client.consumer.fetcher import Fetcher
from cordwood.client.consumer.group_subscription import (
    CLOSE_MS,
    CommitCallback,
    GroupSubscription,
    OffsetValue,
    RebalanceCallback,
    RebalanceCallbacks,
)
from cordwood.client.consumer.offset_fetcher import (
    EARLIEST,
    LATEST,
    FoundOffset,
    ends_of_epochs,
    list_offsets,
    offsets_of,
)
from cordwood.client.consumer.poll_wait import PollWait
from cordwood.client.consumer.record_reader import RecordReader
from cordwood.client.consumer.subscription_state import SubscriptionState, TopicPartitionState
from cordwood.client.group.topic_subscription import subscription_of
from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.runtime import ClientRuntime, system_runtime
from cordwood.client.network.tls import tls_context
from cordwood.client.option_signature import named_options
from cordwood.client.serializers import BYTES, Deserializers, ReadK, ReadV
from cordwood.client.settings import (
    ISOLATIONS,
    ConsumerOptions,
    ConsumerSettings,
    options_of,
)
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import InvalidRequestError, KafkaError, RequestTimedOutError
from cordwood.core.types import TopicPartition

if TYPE_CHECKING:
    from cordwood.client.consumer.column_batches import ColumnBatch


_Due: TypeAlias = TopicPartitionState | GroupSubscription


@named_options(ConsumerSettings)
class Consumer(Generic[ReadK, ReadV]):  # tidy: allow[class-lines] the calls of its users
    """Consumer; `ReadK` and `ReadV` are the types of its deserializers.

    >>> async def main():
    ...     settings = {"group": "billing", "auto_offset_reset": "earliest"}
    ...     async with aio.Consumer("127.0.0.1:9092", **settings) as consumer:
    ...         consumer.subscribe(["orders"])
    ...         async for record in consumer:
    ...             return record.offset, record.value
    >>> asyncio.run(main())
    (0, b'3 beams')
    """

    def __init__(
        self,
        bootstrap: str = "",
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        group: str | None = None,
        tls: ssl.SSLContext | None = None,
        runtime: Callable[[], ClientRuntime] = system_runtime,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        """Create a consumer; it starts with `async with` or `start`.

        Args:
            bootstrap: Addresses of brokers as host:port, with commas between them.
            deserializers: Functions that decode keys and values; without them they are bytes.
            group: The group of the consumer, short for `group_id`.
            tls: TLS context for security_protocol=SSL, by default with the system's certificates.
        """
        self.settings = consumer_settings(bootstrap, options, group=group)
        self._deserializers = deserializers or cast("Deserializers[ReadK, ReadV]", BYTES)
        self._tls = tls_context(self.settings, tls)
        self._runtime = runtime
        self._subscriptions = SubscriptionState(has_group=self.settings.group_id is not None)
        self._client: NetworkClient | None = None
        self._fetcher: Fetcher | None = None
        self._reader: RecordReader[ReadK, ReadV] | None = None
        self._group: GroupSubscription | None = None
        self._wait: PollWait | None = None

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

    def __repr__(self) -> str:
        client, group = self._client, self._group
        return consumer_repr(self._subscriptions, self.settings, client=client, group=group)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Start on the running loop."""
        creates, runtime = self.settings.allow_auto_create_topics, self._runtime()
        self._client = NetworkClient(self.settings, runtime, self._tls, creates_topics=creates)
        self._fetcher = Fetcher(self._client, self.settings, self._subscriptions)
        self._wait = PollWait(self._client.runtime, self._fetcher.arrived)
        if self.settings.group_id is not None:
            self._group = self._new_group(self._client, self._fetcher)
        self._reader = RecordReader(
            self._deserializers,
            self._fetcher,
            self._client.tasks,
            before_handing_out=(
                _ignore if self._group is None else self._group.auto_commit.before_handing_out
            ),
        )

    async def close(self, *, leave_group: bool | None = None, timeout_ms: float = CLOSE_MS) -> None:
        """Commit, leave the group and close the consumer.

        A static member stays in its group until its session ends, unless `leave_group` is True.
        """
        self.ensure_no_rebalance()
        try:
            await self.leave(leave_group=leave_group, timeout_ms=timeout_ms)
        finally:
            client, self._client = self._client, None
            if client is not None and self._wait is not None:
                self._wait.close()
                if self._fetcher is not None:
                    self._fetcher.end_sessions()
                await client.close()

    async def leave(self, *, leave_group: bool | None = None, timeout_ms: float = CLOSE_MS) -> None:
        """Commit and leave the group, as the first step of `close`."""
        self.ensure_no_rebalance()
        try:
            if self._group is not None and self._client is not None:
                await self._group.unsubscribe(is_leaving_group=leave_group, timeout_ms=timeout_ms)
        finally:
            self._group = None

    def ensure_no_rebalance(self) -> None:
        """Raise InvalidRequestError in a rebalance callback, which cannot close the consumer."""
        if self._group is not None:
            self._group.ensure_no_rebalance()

    def _new_group(self, client: NetworkClient, fetcher: Fetcher) -> GroupSubscription:
        group = GroupSubscription(
            client,
            self.settings,
            self._subscriptions,
            arrived=fetcher.arrived,
            on_change=fetcher.wake,
        )

        def change() -> None:
            fetcher.wake()
            group.observe_metadata()

        client.on_change = change
        fetcher.read_committed_offsets(partial(self._committed, group))
        return group

    # Positions.

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Assign partitions; those that were assigned before keep their positions.

        With a group, a partition begins at its committed offset; the group assigns nothing.
        """
        if self._group is not None and self._group.is_subscribed:
            raise InvalidRequestError("the group assigns partitions; call `unsubscribe` first")
        self._subscriptions.assign(partitions_of(partitions))
        self._wake()

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return the assigned partitions."""
        return tuple(position.partition for position in self._subscriptions)

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        """Set the position of a partition."""
        if offset < 0:
            raise InvalidRequestError(f"offset {offset} is below 0; see seek_to_beginning")
        self._state_of(partition).seek(offset)
        self._wake()

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Set positions to the log start offset, of all partitions if none is given."""
        self._seek_to(partitions, EARLIEST)

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Set positions to the end of the log, of all partitions if none is given."""
        self._seek_to(partitions, LATEST)

    def seek_to_timestamp(self, timestamp_ms: int, *partitions: tuple[str, int]) -> None:
        """Set positions to the first record at or after a timestamp, else to the end."""
        if timestamp_ms < 0:
            raise InvalidRequestError(f"timestamp {timestamp_ms} is below 0")
        self._seek_to(partitions, timestamp_ms)

    def pause(self, *partitions: tuple[str, int]) -> None:
        """Return no records of these partitions until `resume`."""
        for position in self._chosen(partitions):
            position.is_paused = True

    def resume(self, *partitions: tuple[str, int]) -> None:
        """Return records of these partitions again."""
        for position in self._chosen(partitions):
            position.is_paused = False
        self._wake()

    async def position(self, partition: tuple[str, int]) -> int:
        """Return the offset of the next record, as soon as it is resolved."""
        position = self._state_of(partition)
        limit_ms = self.settings.default_api_timeout_ms
        wait = self._started()
        if position.offset is None:
            await wait.first_found(
                lambda: None if position.offset is None and position.problem is None else position,
                wait.until_ms(limit_ms),
            )
        if position.offset is None:
            raise self._take_problem(position) or RequestTimedOutError(
                f"{position.partition}: no position within {limit_ms} ms (default_api_timeout_ms);"
                " check the broker that leads the partition"
            )
        return position.offset

    # Offsets.

    async def beginning_offsets(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        """Return the log start offset of each partition."""
        return offsets_of(await self._list(dict.fromkeys(partitions_of(partitions), EARLIEST)))

    async def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return each partition's next offset, the last stable one under read_committed."""
        return offsets_of(await self._list(dict.fromkeys(partitions_of(partitions), LATEST)))

    async def offsets_for_times(
        self, timestamps_ms: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset | None]:
        """Return the first offset at or after each timestamp, None if there is none."""
        wanted = dict(zip(partitions_of(timestamps_ms), timestamps_ms.values(), strict=True))
        found = await self._list(wanted)
        return {each: None if place.offset < 0 else place for each, place in found.items()}

    async def ends_of_epochs(
        self, epochs: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, int]:
        """Return where each partition's leader epoch ends; -1 if its leader does not know it."""
        self._started()
        assert self._client is not None, "start() sets it with the fetcher"
        wanted = dict(zip(partitions_of(epochs), epochs.values(), strict=True))
        return await ends_of_epochs(self._client, wanted)

    # Groups.

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
        callbacks = RebalanceCallbacks(on_assigned, on_revoked, on_lost)
        self._grouped("subscribe").subscribe(subscription_of(topics, pattern), callbacks)
        self._wake()

    async def unsubscribe(self) -> None:
        """Leave the group, or end the assignment."""
        if self._group is None:
            self.assign(())
        else:
            await self._group.unsubscribe()

    def subscription(self) -> frozenset[str]:
        """Return the subscribed topics; empty for a pattern."""
        return frozenset() if self._group is None else self._group.subscription.names

    async def commit(
        self,
        offsets: Mapping[tuple[str, int], OffsetValue] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> None:
        """Commit offsets, by default the positions; the default timeout is that of a call."""
        group = self._grouped("commit")
        await group.offsets.commit(group.offsets_of(offsets), timeout_ms=timeout_ms)

    def commit_async(
        self,
        offsets: Mapping[tuple[str, int], OffsetValue] | None = None,
        *,
        callback: CommitCallback | None = None,
    ) -> None:
        """Commit in the background; a later poll calls `callback(offsets, error)`."""
        group = self._grouped("commit_async")
        group.commit_soon(group.offsets_of(offsets), callback)

    async def committed(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, GroupOffset | None]:
        """Return the group's committed offset of each partition, None where there is none."""
        return await self._committed(self._grouped("committed"), partitions_of(partitions))

    def group_metadata(self) -> GroupMetadata:
        """Return the group and this member, for a transaction that commits its offsets."""
        return self._grouped("group_metadata").metadata

    # Records.

    async def poll(
        self, timeout_ms: float = 1_000, *, max_records: int | None = None
    ) -> list[ConsumedRecord[ReadK, ReadV]]:
        """Return the next records of one partition; an empty list after the timeout.

        Fetches without any record for the reader, such as aborted ones, do not end the wait.
        """
        most = self.settings.max_poll_records if max_records is None else max_records
        if most < 1:
            raise InvalidRequestError(f"max_records is {most}; give at least 1")
        until_ms = self._started().until_ms(timeout_ms)
        while (position := await self._next(until_ms)) is not None:
            if found := self._reader_of(position).take(position, most):
                return found
        return []

    async def __aiter__(self) -> AsyncIterator[ConsumedRecord[ReadK, ReadV]]:
        """Yield records forever."""
        while True:
            for record in await self.poll():
                yield record

    async def columns(
        self, columns: Sequence[str] | None = None, *, timeout_ms: float | None = None
    ) -> AsyncGenerator["ColumnBatch", None]:
        """Yield Arrow record batches with their partition, without creating a Python object per
        record.

        Ends after `timeout_ms` without records; without a timeout it does not end.
        """
        from cordwood.client.consumer.column_batches import column_batches  # noqa: PLC0415  # pyarrow: 0.2 s

        async with aclosing(self.record_sets(timeout_ms=timeout_ms)) as fetched:
            async for records in fetched:
                for batch in column_batches(records, columns):
                    yield batch

    async def record_sets(
        self, *, timeout_ms: float | None = None
    ) -> AsyncGenerator[CompletedFetch, None]:
        """Yield completed fetches, for callers that decode them themselves.

        `CompletedFetch.end` tracks how far the log was read, even where no record is left. A caller
        that stops at an offset can therefore detect that the offset is reached. Ends as `columns`
        does.
        """
        while (position := await self._next(self._started().until_ms(timeout_ms))) is not None:
            generation, reader = position.generation, self._reader_of(position)
            yield reader.whole(position)
            if position.generation == generation and position in self._subscriptions:
                reader.finish(position)

    # Internals.

    async def _next(self, until_ms: float | None) -> TopicPartitionState | None:
        """Return a partition with fetched records or an error; None if the time is reached."""
        wait, group = self._started(), self._group
        if not len(self._subscriptions) and (group is None or not group.is_subscribed):
            raise InvalidRequestError("no partition is assigned; call `assign` first")
        if group is None:
            position = await wait.first_found(self._subscriptions.next_fetched, until_ms)
        else:
            position = await self._next_of_group(wait, group, until_ms)
        if (
            position is not None
            and not position.fetched
            and (problem := self._take_problem(position))
        ):
            raise problem
        return position

    async def _next_of_group(
        self, wait: PollWait, group: GroupSubscription, until_ms: float | None
    ) -> TopicPartitionState | None:
        """Perform the changes of the group that are due before the next records."""

        def found() -> _Due | None:
            return group if group.needs_user else self._subscriptions.next_fetched()

        group.begin_poll()
        try:
            while True:
                due: _Due | None = await wait.first_found(found, until_ms)
                if not isinstance(due, GroupSubscription):
                    return due
                await group.run_due()
        finally:
            group.end_poll()

    def _take_problem(self, position: TopicPartitionState) -> KafkaError | None:
        """Return the error of a partition, and let the fetcher try again."""
        problem, position.problem = position.problem, None
        self._wake()
        return problem

    async def _committed(
        self, group: GroupSubscription, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, GroupOffset | None]:
        is_stable = self.settings.isolation_level == "read_committed"
        return await group.offsets.committed(partitions, requires_stable=is_stable)

    def _grouped(self, call: str) -> GroupSubscription:
        self._started()
        if self._group is None:
            raise InvalidRequestError(f"`{call}` needs a group; give `group` to the consumer")
        return self._group

    def _reader_of(self, position: TopicPartitionState) -> RecordReader[ReadK, ReadV]:
        assert self._reader is not None, f"{position.partition} was fetched after `start`"
        return self._reader

    async def _list(
        self, wanted: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, FoundOffset]:
        self._started()
        assert self._client is not None, "start() sets it with the fetcher"
        isolation = ISOLATIONS.index(self.settings.isolation_level)
        return await list_offsets(self._client, wanted, isolation_level=isolation)

    def _seek_to(self, partitions: tuple[tuple[str, int], ...], place: int) -> None:
        for position in self._chosen(partitions):
            position.seek_to(place)
        self._wake()

    def _chosen(self, partitions: tuple[tuple[str, int], ...]) -> list[TopicPartitionState]:
        if not partitions:
            return list(self._subscriptions)
        return [self._state_of(each) for each in partitions]

    def _state_of(self, partition: tuple[str, int]) -> TopicPartitionState:
        return self._subscriptions[partitions_of([partition])[0]]

    def _wake(self) -> None:
        if self._fetcher is not None:
            self._fetcher.wake()

    def _started(self) -> PollWait:
        if self._wait is None or self._client is None:
            raise InvalidRequestError(
                "the consumer is closed or not started; use it in its `with` or `async with` block"
            )
        return self._wait


def _ignore(_: TopicPartitionState) -> None:
    """Keep nothing: without a group no offsets are committed."""

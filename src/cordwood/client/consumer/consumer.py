"""The asyncio consumer with manual assignment (Java: `KafkaConsumer.assign`).

    async with aio.Consumer("127.0.0.1:9092") as consumer:
        consumer.assign([("orders", 0)])
        consumer.seek_to_beginning()
        async for record in consumer:
            print(record.offset, record.key, record.value)

The consumer prefetches between polls. Records of one partition come in offset order; partitions
take turns. `poll` raises an error after all records before it.
"""

import asyncio
import ssl
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Generic, Self, Unpack, cast

from cordwood.client.consumer.columnar_records import PAYS_FROM, records_from_columns
from cordwood.client.consumer.completed_fetch import CompletedFetch, ConsumedRecord
from cordwood.client.consumer.fetcher import Fetcher
from cordwood.client.consumer.offset_fetcher import EARLIEST, LATEST, FoundOffset, list_offsets
from cordwood.client.consumer.poll_wait import PollWait
from cordwood.client.consumer.subscription_state import SubscriptionState, TopicPartitionState
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.network.runtime import ClientRuntime, system_runtime
from cordwood.client.network.tls import tls_context
from cordwood.client.serializers import BYTES, Deserializers, ReadK, ReadV
from cordwood.client.settings import (
    ISOLATIONS,
    ConsumerOptions,
    ConsumerSettings,
    options_of,
    settings_of,
)
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import InvalidRequestError, KafkaError, RequestTimedOutError
from cordwood.core.types import TopicPartition
from cordwood.records.kernels import decoder, is_warm

if TYPE_CHECKING:
    from cordwood.client.consumer.column_batches import ColumnBatch
    from cordwood.records.decoder import Decoder


class Consumer(Generic[ReadK, ReadV]):
    """Consumer of assigned partitions; `ReadK` and `ReadV` are the types of its deserializers."""

    def __init__(
        self,
        bootstrap: str = "",
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        tls: ssl.SSLContext | None = None,
        runtime: Callable[[], ClientRuntime] = system_runtime,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        if bootstrap:
            options["bootstrap_servers"] = bootstrap
        self.settings = settings_of(
            ConsumerSettings, options, other_options=("deserializers", "tls")
        )
        self._deserializers = deserializers or cast("Deserializers[ReadK, ReadV]", BYTES)
        self._tls = tls_context(self.settings, tls)
        self._runtime = runtime
        self._subscriptions = SubscriptionState()
        self._client: NetworkClient | None = None
        self._fetcher: Fetcher | None = None
        self._handed_out = 0
        self._decoder: Decoder | None = None
        self._loading: asyncio.Task[None] | None = None
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

    async def close(self) -> None:
        """Close the consumer and drop its positions."""
        client, self._client = self._client, None
        if client is not None and self._wait is not None:
            self._wait.close()
            await client.close()

    # Positions.

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Assign partitions; those that were assigned before keep their positions."""
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
        return _offsets(await self._list(dict.fromkeys(partitions_of(partitions), EARLIEST)))

    async def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return each partition's next offset, the last stable one under read_committed."""
        return _offsets(await self._list(dict.fromkeys(partitions_of(partitions), LATEST)))

    async def offsets_for_times(
        self, timestamps_ms: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset | None]:
        """Return the first offset at or after each timestamp, None if there is none."""
        wanted = dict(zip(partitions_of(timestamps_ms), timestamps_ms.values(), strict=True))
        found = await self._list(wanted)
        return {each: None if place.offset < 0 else place for each, place in found.items()}

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
            if found := self._take_records(position, most):
                self._count(len(found))
                return found
        return []

    def _take_records(
        self, position: TopicPartitionState, most: int
    ) -> list[ConsumedRecord[ReadK, ReadV]]:
        """Return prefetched records of one partition, and advance its position."""
        found: list[ConsumedRecord[ReadK, ReadV]] = []
        while position.fetched and len(found) < most:
            if position.reading is None:
                position.reading = self._records(_rest(position))
            reading = cast("Iterator[ConsumedRecord[ReadK, ReadV]]", position.reading)
            try:
                found.extend(islice(reading, most - len(found)))
            except Exception as error:
                position.reading = None
                if not found:
                    error.add_note(
                        f"read from {position.partition} at offset {position.offset};"
                        " seek past the record to skip it"
                    )
                    raise
                break
            finally:
                if found:
                    position.offset = found[-1].offset + 1
            if len(found) < most:
                self._finish(position)
        return found

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
            generation, position.reading = position.generation, None
            yield _rest(position)
            if position.generation == generation:
                self._finish(position)

    # Internals.

    async def _next(self, until_ms: float | None) -> TopicPartitionState | None:
        """Return a partition with fetched records or an error; None if the time is reached."""
        wait = self._started()
        if not len(self._subscriptions):
            raise InvalidRequestError("no partition is assigned; call `assign` first")
        position = await wait.first_found(self._subscriptions.next_fetched, until_ms)
        if (
            position is not None
            and not position.fetched
            and (problem := self._take_problem(position))
        ):
            raise problem
        return position

    def _take_problem(self, position: TopicPartitionState) -> KafkaError | None:
        """Return the error of a partition, and let the fetcher try again."""
        problem, position.problem = position.problem, None
        self._wake()
        return problem

    def _records(self, records: CompletedFetch) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        if self._decoder is None:
            return records.records(self._deserializers)
        return records_from_columns(records, self._deserializers, decoder=self._decoder)

    def _count(self, records: int) -> None:
        """Load the decoder after PAYS_FROM records."""
        self._handed_out += records
        if self._handed_out >= PAYS_FROM and self._loading is None and self._client is not None:
            self._loading = self._client.tasks.start(self._load())

    async def _load(self) -> None:
        if is_warm():
            self._decoder = await asyncio.to_thread(decoder)

    def _finish(self, position: TopicPartitionState) -> None:
        """Drop a completed fetch that was read; its last offsets may have had no records."""
        position.offset = position.fetched.popleft().end[0]
        position.reading = None
        if self._fetcher is not None:
            self._fetcher.wake_for(position)

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
                "the consumer is closed or not started; use `async with`, or call `start`"
            )
        return self._wait


def _rest(position: TopicPartitionState) -> CompletedFetch:
    """Return the rest of the first completed fetch."""
    assert position.offset is not None, "a completed fetch implies a resolved position"
    return replace(position.fetched[0], offset=position.offset)


def _offsets(found: Mapping[TopicPartition, FoundOffset]) -> dict[TopicPartition, int]:
    return {partition: place.offset for partition, place in found.items()}

"""The consumer for asyncio, by assignment.

    async with aio.Consumer("127.0.0.1:9092") as consumer:
        consumer.assign([("orders", 0)])
        consumer.seek_to_beginning()
        async for record in consumer:
            print(record.offset, record.key, record.value)

It reads ahead while nobody polls. Within a partition records come in the order of their offsets;
partitions take turns. Errors come out of `poll`, after all records before them.
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

from cordwood.client.fetcher import Fetcher
from cordwood.client.lookups import EARLIEST, LATEST, FoundOffset, list_offsets
from cordwood.client.machine import this_machine
from cordwood.client.places import partitions_of
from cordwood.client.positions import Assignment, Position
from cordwood.client.quick_records import PAYS_FROM, quick_records
from cordwood.client.record_set import ConsumedRecord, RecordSet
from cordwood.client.router import Router
from cordwood.client.serializers import BYTES, Deserializers, ReadK, ReadV
from cordwood.client.settings import (
    ISOLATIONS,
    ConsumerOptions,
    ConsumerSettings,
    options_of,
    settings_of,
)
from cordwood.client.surroundings import Surroundings
from cordwood.client.trust import tls_of
from cordwood.core.errors import InvalidRequestError, KafkaError
from cordwood.core.types import TopicPartition
from cordwood.records.kernels import decoder, is_warm

if TYPE_CHECKING:
    from cordwood.client.columns import ColumnBatch
    from cordwood.records.chunk import Decoder


class Consumer(Generic[ReadK, ReadV]):
    """Reads the partitions that it is given; its deserializers make `ReadK` and `ReadV`."""

    def __init__(
        self,
        bootstrap: str = "",
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        tls: ssl.SSLContext | None = None,
        surroundings: Callable[[], Surroundings] = this_machine,
        **options: Unpack[ConsumerOptions],
    ) -> None:
        if bootstrap:
            options["bootstrap_servers"] = bootstrap
        self.settings = settings_of(ConsumerSettings, options, beside=("deserializers", "tls"))
        self._deserializers = deserializers or cast("Deserializers[ReadK, ReadV]", BYTES)
        self._tls = tls_of(self.settings, tls)
        self._surroundings = surroundings
        self._assignment = Assignment()
        self._router: Router | None = None
        self._fetcher: Fetcher | None = None
        self._handed_out = 0
        self._decoder: Decoder | None = None
        self._loading: asyncio.Task[None] | None = None

    @classmethod
    def from_config(
        cls,
        config: Mapping[str, object],
        *,
        deserializers: Deserializers[ReadK, ReadV] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> Self:
        """Return a consumer that is told its options by Kafka's names."""
        options = cast("ConsumerOptions", options_of(ConsumerSettings, config))
        return cls(deserializers=deserializers, tls=tls, **options)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Begin on the running loop."""
        self._router = Router(self.settings, self._surroundings(), self._tls)
        self._fetcher = Fetcher(self._router, self.settings, self._assignment)

    async def close(self) -> None:
        """End it; positions are forgotten."""
        router, self._router = self._router, None
        if router is not None:
            await router.close()

    # Where to read.

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        """Read these partitions; those that were read before go on where they are."""
        self._assignment.assign(partitions_of(partitions))
        self._wake()

    def assignment(self) -> tuple[TopicPartition, ...]:
        """Return what is read."""
        return tuple(position.partition for position in self._assignment)

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        """Go on at an offset."""
        if offset < 0:
            raise InvalidRequestError(f"offset {offset} is below 0; see seek_to_beginning")
        self._at(partition).seek(offset)
        self._wake()

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        """Go on at the first offset that a log has; of all partitions if none is named."""
        self._seek_to(partitions, EARLIEST)

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        """Go on with what comes from now on; of all partitions if none is named."""
        self._seek_to(partitions, LATEST)

    def seek_to_timestamp(self, timestamp_ms: int, *partitions: tuple[str, int]) -> None:
        """Go on at the first record that is not older; at the end where there is none."""
        if timestamp_ms < 0:
            raise InvalidRequestError(f"timestamp {timestamp_ms} is below 0")
        self._seek_to(partitions, timestamp_ms)

    def pause(self, *partitions: tuple[str, int]) -> None:
        """Hand out nothing of these until `resume`."""
        for position in self._chosen(partitions):
            position.is_paused = True

    def resume(self, *partitions: tuple[str, int]) -> None:
        """Go on with these."""
        for position in self._chosen(partitions):
            position.is_paused = False
        self._wake()

    async def position(self, partition: tuple[str, int]) -> int:
        """Return the offset of the next record, once it is known."""
        position = self._at(partition)
        fetcher = self._started()
        while position.offset is None:
            if position.problem is not None:
                raise _taken(position)
            await fetcher.arrived.wait()
        return position.offset

    # What there is to read.

    async def beginning_offsets(
        self, partitions: Iterable[tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        """Return the first offset of each log."""
        return _offsets(await self._list(dict.fromkeys(partitions_of(partitions), EARLIEST)))

    async def end_offsets(self, partitions: Iterable[tuple[str, int]]) -> dict[TopicPartition, int]:
        """Return the offset that comes next in each log, as far as this consumer may read."""
        return _offsets(await self._list(dict.fromkeys(partitions_of(partitions), LATEST)))

    async def offsets_for_times(
        self, timestamps_ms: Mapping[tuple[str, int], int]
    ) -> dict[TopicPartition, FoundOffset | None]:
        """Return the first record that is not older, None where there is none."""
        wanted = dict(zip(partitions_of(timestamps_ms), timestamps_ms.values(), strict=True))
        found = await self._list(wanted)
        return {each: None if place.offset < 0 else place for each, place in found.items()}

    # Reading.

    async def poll(
        self, timeout_ms: float = 1_000, *, max_records: int | None = None
    ) -> list[ConsumedRecord[ReadK, ReadV]]:
        """Return the next records of one partition; none if none came within the time."""
        most = self.settings.max_poll_records if max_records is None else max_records
        position = await self._next(timeout_ms)
        if position is None:
            return []
        found: list[ConsumedRecord[ReadK, ReadV]] = []
        while position.fetched and len(found) < most:
            if position.reading is None:
                position.reading = self._records(_rest(position))
            reading = cast("Iterator[ConsumedRecord[ReadK, ReadV]]", position.reading)
            try:
                found.extend(islice(reading, most - len(found)))
            except Exception:
                position.reading = None
                if not found:
                    raise
                break
            finally:
                if found:
                    position.offset = found[-1].offset + 1
            if len(found) < most:
                self._finish(position)
        self._count(len(found))
        return found

    async def __aiter__(self) -> AsyncIterator[ConsumedRecord[ReadK, ReadV]]:
        """Yield records without an end."""
        while True:
            for record in await self.poll():
                yield record

    async def columns(
        self, columns: Sequence[str] | None = None, *, timeout_ms: float | None = None
    ) -> AsyncGenerator["ColumnBatch", None]:
        """Yield records as Arrow's record batches with their partition, no record being touched.

        Ends when nothing came for so long; without a time it does not end.
        """
        from cordwood.client.columns import column_batches  # noqa: PLC0415  # pyarrow: 0.2 s

        async with aclosing(self.record_sets(timeout_ms=timeout_ms)) as fetched:
            async for records in fetched:
                for batch in column_batches(records, columns):
                    yield batch

    async def record_sets(
        self, *, timeout_ms: float | None = None
    ) -> AsyncGenerator[RecordSet, None]:
        """Yield what fetches bring, for who decodes it: its end tells how far the log was read.

        So whoever wants to stop at an offset sees when it is reached, also where no record is left
        before it. Ends as `columns` does.
        """
        while (position := await self._next(timeout_ms)) is not None:
            generation, position.reading = position.generation, None
            yield _rest(position)
            if position.generation == generation:
                self._finish(position)

    # How it is done.

    async def _next(self, timeout_ms: float | None) -> Position | None:
        """Return a partition of which records are there; None if none come in time."""
        fetcher = self._started()
        assert self._router is not None, "it has been started"
        if not len(self._assignment):
            raise InvalidRequestError("nothing is assigned; call `assign` first")
        surroundings = self._router.surroundings
        until_ms = None if timeout_ms is None else surroundings.now_ms() + timeout_ms
        while (position := self._assignment.next_fetched()) is None:
            if until_ms is not None and surroundings.now_ms() >= until_ms:
                return None
            await fetcher.arrived.wait(until_ms)
        if not position.fetched:
            raise _taken(position)
        return position

    def _records(self, records: RecordSet) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        if self._decoder is None:
            return records.records(self._deserializers)
        return quick_records(records, self._deserializers, decoder=self._decoder)

    def _count(self, records: int) -> None:
        """Load a decoder as soon as that pays."""
        self._handed_out += records
        if self._handed_out >= PAYS_FROM and self._loading is None and self._router is not None:
            self._loading = self._router.tasks.start(self._load())

    async def _load(self) -> None:
        if is_warm():
            self._decoder = await asyncio.to_thread(decoder)

    def _finish(self, position: Position) -> None:
        """Let go of a record set that was read, whose last offsets may have had no records."""
        position.offset = position.fetched.popleft().end[0]
        position.reading = None
        self._wake()

    async def _list(
        self, wanted: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, FoundOffset]:
        self._started()
        assert self._router is not None, "it has been started"
        isolation = ISOLATIONS.index(self.settings.isolation_level)
        return await list_offsets(self._router, wanted, isolation_level=isolation)

    def _seek_to(self, partitions: tuple[tuple[str, int], ...], place: int) -> None:
        for position in self._chosen(partitions):
            position.seek_to(place)
        self._wake()

    def _chosen(self, partitions: tuple[tuple[str, int], ...]) -> list[Position]:
        if not partitions:
            return list(self._assignment)
        return [self._at(each) for each in partitions]

    def _at(self, partition: tuple[str, int]) -> Position:
        return self._assignment[partitions_of([partition])[0]]

    def _wake(self) -> None:
        if self._fetcher is not None:
            self._fetcher.wake()

    def _started(self) -> Fetcher:
        if self._fetcher is None or self._router is None:
            raise InvalidRequestError(
                "the consumer is closed, or not started: `async with` it, or start it"
            )
        return self._fetcher


def _taken(position: Position) -> KafkaError:
    """Return what is wrong with a partition; the next poll tries again."""
    problem, position.problem = position.problem, None
    assert problem is not None, "there is one"
    return problem


def _rest(position: Position) -> RecordSet:
    """Return what is left of the first record set."""
    assert position.offset is not None, "there is none before the position is known"
    return replace(position.fetched[0], offset=position.offset)


def _offsets(found: Mapping[TopicPartition, FoundOffset]) -> dict[TopicPartition, int]:
    return {partition: place.offset for partition, place in found.items()}

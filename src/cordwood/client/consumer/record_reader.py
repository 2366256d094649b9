"""Records of prefetched data, decoded when a poll returns them (Java: `FetchCollector`).

After PAYS_FROM records the compiled decoder is loaded, and used from then on.
"""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Generic, cast

from cordwood.client.consumer.columnar_records import PAYS_FROM, records_from_columns
from cordwood.client.consumer.completed_fetch import CompletedFetch, ConsumedRecord
from cordwood.client.consumer.fetcher import Fetcher
from cordwood.client.consumer.subscription_state import TopicPartitionState
from cordwood.client.network.owned_tasks import OwnedTasks
from cordwood.client.serializers import Deserializers, ReadK, ReadV
from cordwood.records.kernels import decoder, has_kernels

if TYPE_CHECKING:
    from cordwood.records.decoder import Decoder


class RecordReader(Generic[ReadK, ReadV]):
    """Reader of one consumer's prefetched records; `before_handing_out` precedes each hand-out."""

    def __init__(
        self,
        deserializers: Deserializers[ReadK, ReadV],
        fetcher: Fetcher,
        tasks: OwnedTasks,
        *,
        before_handing_out: Callable[[TopicPartitionState], object],
    ) -> None:
        self._deserializers = deserializers
        self._fetcher = fetcher
        self._tasks = tasks
        self._before_handing_out = before_handing_out
        self._handed_out = 0
        self._decoder: Decoder | None = None
        self._loading: asyncio.Task[None] | None = None

    def take(self, position: TopicPartitionState, most: int) -> list[ConsumedRecord[ReadK, ReadV]]:
        """Return prefetched records of one partition, and advance its position."""
        self._before_handing_out(position)
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
                self.finish(position)
        self._count(len(found))
        return found

    def whole(self, position: TopicPartitionState) -> CompletedFetch:
        """Return the rest of the first completed fetch; `finish` follows once it is read."""
        self._before_handing_out(position)
        position.reading = None
        return _rest(position)

    def finish(self, position: TopicPartitionState) -> None:
        """Drop a completed fetch that was read; its last offsets may have had no records."""
        position.offset = position.fetched.popleft().end[0]
        position.reading = None
        self._fetcher.wake_for(position)

    def _records(self, records: CompletedFetch) -> Iterator[ConsumedRecord[ReadK, ReadV]]:
        if self._decoder is None:
            return records.records(self._deserializers)
        return records_from_columns(records, self._deserializers, decoder=self._decoder)

    def _count(self, records: int) -> None:
        self._handed_out += records
        if self._handed_out >= PAYS_FROM and self._loading is None:
            self._loading = self._tasks.start(self._load())

    async def _load(self) -> None:
        if has_kernels():
            self._decoder = await asyncio.to_thread(decoder)


def _rest(position: TopicPartitionState) -> CompletedFetch:
    """Return the rest of the first completed fetch."""
    assert position.offset is not None, "a completed fetch implies a resolved position"
    return replace(position.fetched[0], offset=position.offset)

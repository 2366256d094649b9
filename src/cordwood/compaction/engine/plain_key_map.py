"""The plain twin of key maps: a dictionary of keys (Kafka: `OffsetMap`, `SkimpyOffsetMap`).

Keys are compared as bytes, so two keys are never confused. A hash only assigns a key to a range. If
the keys of a range exceed the memory, the range loses its upper half to the next range, repeatedly.
The keys of a single hash cannot be split by hash, so they stay even if they exceed the memory.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.engine import HASHES, KeyBlock
from cordwood.compaction.engine.record_marks import Marks, set_bit
from cordwood.compaction.engine.segment_chunk import SegmentChunk, numbered_batches
from cordwood.compaction.key_hash import key_hash
from cordwood.core.binary import Buffer
from cordwood.records.record import Record

#: Approximate memory of a key in addition to its bytes: two objects and a dictionary entry.
KEY_COST: Final = 160


class PlainKeyMap:
    """The number of the last record of each key, for one range of hashes at a time."""

    __slots__ = (
        "_end",
        "_erased",
        "_first",
        "_hash_of",
        "_last",
        "_marks",
        "_memory_bytes",
        "_seed",
        "_size",
        "keys",
        "unkeyed",
    )

    def __init__(
        self,
        marks: Marks,
        memory_bytes: int,
        *,
        erased: frozenset[bytes] = frozenset(),
        seed: int = 0,
        hash_of: Callable[[Buffer, int], int] = key_hash,
    ) -> None:
        self.keys = 0
        self.unkeyed = 0
        self._marks = marks
        self._memory_bytes = memory_bytes
        self._erased = erased
        self._seed = seed
        self._hash_of = hash_of

    def begin_range(self, first_hash: int) -> None:
        self._first, self._end = first_hash, HASHES
        self._last: dict[bytes, int] = {}
        self._size = 0

    def learn(self, chunk: SegmentChunk, *, first_offset: int) -> None:
        for keyed in self._chunk_records(chunk, first_offset, HASHES):
            self._learn(keyed)

    def look_up(self, chunk: SegmentChunk, *, end_offset: int) -> None:
        for keyed in self._chunk_records(chunk, 0, end_offset):
            self._look_up(keyed)

    def learn_keys(self, keys: KeyBlock, *, first_number: int) -> None:
        for keyed in self._block_records(keys, first_number):
            self._learn(keyed)

    def look_up_keys(self, keys: KeyBlock, *, first_number: int) -> None:
        for keyed in self._block_records(keys, first_number):
            self._look_up(keyed)

    def finish_range(self) -> int:
        for number in self._last.values():
            set_bit(self._marks.latest, number)
        self.keys += len(self._last)
        return self._end

    def _learn(self, keyed: "_KeyedRecord") -> None:
        if keyed.key not in self._last:
            self._size += KEY_COST + len(keyed.key)
        self._last[keyed.key] = keyed.number
        set_bit(self._marks.tombstones, keyed.number, value=keyed.is_tombstone)
        while self._size > self._memory_bytes and self._end - self._first > 1:
            self._halve()

    def _look_up(self, keyed: "_KeyedRecord") -> None:
        set_bit(self._marks.tombstones, keyed.number, value=keyed.is_tombstone)
        if keyed.key not in self._last:
            set_bit(self._marks.latest, keyed.number)

    def _block_records(self, keys: KeyBlock, first_number: int) -> Iterator["_KeyedRecord"]:
        """Yield the records of a block that are in the range."""
        at = 0
        for number, (size, word) in enumerate(
            zip(keys.sizes, keys.words, strict=True), first_number
        ):
            key, at = keys.data[at : at + size], at + size
            if self._is_in_range(key):
                yield _KeyedRecord(number, key, is_tombstone=bool(word & 1))

    def _chunk_records(
        self, chunk: SegmentChunk, first_offset: int, end_offset: int
    ) -> Iterator["_KeyedRecord"]:
        """Yield the keyed records that are in the range of hashes and between the offsets."""
        for number, record in data_records(chunk):
            if not first_offset <= record.offset < end_offset:
                continue
            if record.key is None:
                self.unkeyed += self._first == 0
            elif record.key not in self._erased and self._is_in_range(record.key):
                yield _KeyedRecord(number, record.key, is_tombstone=record.value is None)

    def _is_in_range(self, key: bytes) -> bool:
        return self._first <= self._hash_of(key, self._seed) < self._end

    def _halve(self) -> None:
        self._end = self._first + (self._end - self._first) // 2
        self._last = {key: number for key, number in self._last.items() if self._is_in_range(key)}
        self._size = sum(KEY_COST + len(key) for key in self._last)


class _KeyedRecord(NamedTuple):
    """A record with a key."""

    number: int
    key: bytes
    is_tombstone: bool


def data_records(chunk: SegmentChunk) -> Iterator[tuple[int, Record]]:
    """Yield the records, with their numbers, of data batches that are not deleted as a whole."""
    for batch, retention, first_number in numbered_batches(chunk):
        if not retention & (BatchRetention.DELETE | BatchRetention.CONTROL):
            yield from enumerate(batch.records(), first_number)

"""The plain twin of key maps: a dictionary of keys, so that none is ever taken for another.

Hashes only say which keys belong to a range. When the keys of a range take more than the memory
that there is, its upper half is left to the next one, again and again, down to a single hash: its
keys are held whatever they take, for they cannot be told apart by less.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from cordwood.compaction.engine import HASHES, Chunk, NotedKeys
from cordwood.compaction.fated import fated_batches
from cordwood.compaction.fates import Fate
from cordwood.compaction.key_hash import key_hash
from cordwood.compaction.marks import Marks, set_bit
from cordwood.core.binary import Buffer
from cordwood.records.record import Record

#: About what a key takes beside its bytes: two objects and a place in the dictionary.
KEY_COST: Final = 160


class PlainKeyMap:
    """The number of each key's last record, of the keys of one range after the other."""

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

    def begin(self, first_hash: int) -> None:
        self._first, self._end = first_hash, HASHES
        self._last: dict[bytes, int] = {}
        self._size = 0

    def learn(self, chunk: Chunk, *, first_offset: int) -> None:
        for keyed in self._keyed(chunk, first_offset, HASHES):
            self._learn(keyed)

    def look_up(self, chunk: Chunk, *, end_offset: int) -> None:
        for keyed in self._keyed(chunk, 0, end_offset):
            self._look_up(keyed)

    def learn_keys(self, keys: NotedKeys, *, first_number: int) -> None:
        for keyed in self._noted(keys, first_number):
            self._learn(keyed)

    def look_up_keys(self, keys: NotedKeys, *, first_number: int) -> None:
        for keyed in self._noted(keys, first_number):
            self._look_up(keyed)

    def settle(self) -> int:
        for number in self._last.values():
            set_bit(self._marks.latest, number)
        self.keys += len(self._last)
        return self._end

    def _learn(self, keyed: "_Keyed") -> None:
        if keyed.key not in self._last:
            self._size += KEY_COST + len(keyed.key)
        self._last[keyed.key] = keyed.number
        set_bit(self._marks.tombstones, keyed.number, value=keyed.is_tombstone)
        while self._size > self._memory_bytes and self._end - self._first > 1:
            self._halve()

    def _look_up(self, keyed: "_Keyed") -> None:
        set_bit(self._marks.tombstones, keyed.number, value=keyed.is_tombstone)
        if keyed.key not in self._last:
            set_bit(self._marks.latest, keyed.number)

    def _noted(self, keys: NotedKeys, first_number: int) -> Iterator["_Keyed"]:
        """Yield the noted records of the range."""
        at = 0
        for number, (size, word) in enumerate(
            zip(keys.sizes, keys.words, strict=True), first_number
        ):
            key, at = keys.data[at : at + size], at + size
            if self._is_in_range(key):
                yield _Keyed(number, key, is_tombstone=bool(word & 1))

    def _keyed(self, chunk: Chunk, first_offset: int, end_offset: int) -> Iterator["_Keyed"]:
        """Yield the records of the range, and of the offsets, that count for their keys."""
        for number, record in counted(chunk):
            if not first_offset <= record.offset < end_offset:
                continue
            if record.key is None:
                self.unkeyed += self._first == 0
            elif record.key not in self._erased and self._is_in_range(record.key):
                yield _Keyed(number, record.key, is_tombstone=record.value is None)

    def _is_in_range(self, key: bytes) -> bool:
        return self._first <= self._hash_of(key, self._seed) < self._end

    def _halve(self) -> None:
        self._end = self._first + (self._end - self._first) // 2
        self._last = {key: number for key, number in self._last.items() if self._is_in_range(key)}
        self._size = sum(KEY_COST + len(key) for key in self._last)


class _Keyed(NamedTuple):
    """A record that counts for its key."""

    number: int
    key: bytes
    is_tombstone: bool


def counted(chunk: Chunk) -> Iterator[tuple[int, Record]]:
    """Yield the records, with their numbers, of all batches that are not dropped as such."""
    for batch, fate, first_number in fated_batches(chunk):
        if not fate & (Fate.DROPPED | Fate.CONTROL):
            yield from enumerate(batch.records(), first_number)

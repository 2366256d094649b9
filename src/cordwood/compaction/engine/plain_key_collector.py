"""The plain twin of key collectors: key, hash and number of the records that survive in a part."""

from array import array
from collections.abc import Callable, Iterator

from cordwood.compaction.engine.engine import BUCKET_SHIFT, KeyBlock
from cordwood.compaction.engine.plain_key_map import data_records
from cordwood.compaction.engine.record_marks import Marks, set_bit
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.key_hash import key_hash
from cordwood.core.binary import Buffer


class PlainKeyCollector:
    """A collector that adds key after key."""

    __slots__ = ("_buckets", "_first_number", "_hash_of", "_seed")

    def __init__(  # tidy: allow[positional] as `Engine.collector` is called
        self,
        buckets: int,
        first_number: int,
        seed: int,
        *,
        hash_of: Callable[[Buffer, int], int] = key_hash,
    ) -> None:
        self._buckets: list[list[tuple[bytes, int, int]]] = [[] for _ in range(buckets)]
        self._first_number = first_number
        self._seed = seed
        self._hash_of = hash_of

    def collect(self, chunk: SegmentChunk, marks: Marks, *, offsets: range) -> None:
        for number, record in data_records(chunk):
            if record.key is None or record.offset not in offsets or not marks.is_latest(number):
                continue
            hashed = self._hash_of(record.key, self._seed)
            word = (self._first_number + number) << 1 | (record.value is None)
            bucket = hashed >> BUCKET_SHIFT & len(self._buckets) - 1
            self._buckets[bucket].append((record.key, hashed, word))

    def finish(self) -> Iterator[KeyBlock]:
        for bucket in self._buckets:
            yield KeyBlock(
                b"".join(key for key, _, _ in bucket),
                array("i", (len(key) for key, _, _ in bucket)),
                array("Q", (hashed for _, hashed, _ in bucket)),
                array("q", (word for _, _, word in bucket)),
            )


def survivors(  # tidy: allow[positional] as `Engine` has it
    marks: Marks, keys: KeyBlock, first_number: int
) -> "array[int]":
    """Return the words of the records that are marked as the latest; see `Engine`."""
    each = enumerate(keys.words, first_number)
    return array("q", (word for number, word in each if marks.is_latest(number)))


def mark(  # tidy: allow[positional] as `Engine` has it
    marks: Marks, first_number: int, words: "array[int]"
) -> None:
    """Mark records as the latest, and tombstones as such; see `Engine`."""
    for word in words:
        set_bit(marks.latest, (word >> 1) - first_number)
        if word & 1:
            set_bit(marks.tombstones, (word >> 1) - first_number)

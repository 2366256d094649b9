"""The engine of a pass: contracts for processing chunks, kept by the plain twin and the kernels.

A pass reads a segment in chunks of whole batches (`segment_chunk`), in the order of the log, and
gives each chunk to these objects. They verify every batch's checksum and every record that they
read. A `BadRecordsError` fails the pass; the log is unchanged then.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.engine.record_marks import Marks
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.proof.record_checks import RecordVerifiers, plain_record_verifier
from cordwood.core.binary import Buffer
from cordwood.records.tail_scan import TailScanners, no_tail_scanner

if TYPE_CHECKING:
    from array import array

#: The number of hashes of keys: the largest hash, plus 1.
HASHES: Final = 1 << 64
#: The bits of a hash from this one on select a bucket; key maps use other bits.
BUCKET_SHIFT: Final = 44
MOST_BUCKETS: Final = 1 << 10


class ChunkSummary(NamedTuple):
    """The headers of the whole batches at the beginning of a buffer, which take `size` bytes.

    `records` counts the numbered records (`record_marks`). `flagged` are the positions of the
    batches that may need a retention: of control batches, of transactional ones, and of those with
    the given last offsets.
    """

    size: int
    batches: int
    records: int
    flagged: "array[int]"


class Surveyor(Protocol):
    """A reader of headers; it decompresses only wrappers of the old formats, to count records."""

    def summarize(self, data: Buffer) -> ChunkSummary:
        """Return the summary of the whole batches at the beginning of `data`.

        It is empty if the first batch is cut off. Raise BadRecordsError if the bytes cannot start a
        batch, or if a record count is negative.
        """


class KeyBlock(NamedTuple):
    """Records without their values, as the parts of a distributed pass exchange them.

    `data` is the keys end to end, of `sizes` bytes each, and `hashes` are their hashes. A word is
    twice a record's number in the log, plus 1 for a tombstone.
    """

    data: bytes
    sizes: "array[int]"
    hashes: "array[int]"
    words: "array[int]"


class KeyCollector(Protocol):
    """A collector of the keys that survive in one part of a log, in buckets by their hashes.

    The bucket of a key is the same for all collectors.
    """

    def collect(self, chunk: SegmentChunk, marks: Marks, *, offsets: range) -> None:
        """Add the records at these offsets that are marked as the latest."""

    def finish(self) -> Iterator[KeyBlock]:
        """Yield the keys, bucket by bucket."""


class KeyMap(Protocol):
    """The last record of each key (Kafka: `OffsetMap`), exactly: equal hashes compare the bytes.

    It covers hashes from 0 to `HASHES`, in as many ranges as its memory requires. For each range it
    learns all dirty records, then looks up all clean ones, then finishes. An erased key behaves as
    if a later record of it existed. The results are the marks.
    """

    def begin_range(self, first_hash: int) -> None:
        """Clear all keys; accept keys from this hash on, up to where memory ends."""

    def learn(self, chunk: SegmentChunk, *, first_offset: int) -> None:
        """Put the records from `first_offset` on, and mark their tombstones.

        If memory is full, the range shrinks, and the map removes the keys outside of it.
        """

    def look_up(self, chunk: SegmentChunk, *, end_offset: int) -> None:
        """Mark the range's records below `end_offset` as latest if the map lacks their keys.

        Their tombstones are marked too.
        """

    def learn_keys(self, keys: KeyBlock, *, first_number: int) -> None:
        """Put the records of a block, numbered from `first_number` on, as `learn` does."""

    def look_up_keys(self, keys: KeyBlock, *, first_number: int) -> None:
        """Mark the records of a block whose keys the map lacks, as `look_up` does."""

    def finish_range(self) -> int:
        """Mark the records in the map, and return the first hash of the next range."""

    @property
    def keys(self) -> int:
        """The number of keys that were in the map, over finished ranges; without erased ones."""

    @property
    def unkeyed(self) -> int:
        """The number of records without a key, of those learnt or looked up; each counts once."""


class KeyMaps(Protocol):
    """A factory of key maps."""

    def __call__(
        self, marks: Marks, memory_bytes: int, *, erased: frozenset[bytes], seed: int
    ) -> KeyMap:
        """Return a key map that sets `marks`, within the memory; no `erased` key is latest.

        `seed` seeds the key hash. It affects which keys share a range, never which records survive.
        """


class Rewriter(Protocol):
    """A writer of the retained batches; batches that are retained whole are copied unchanged.

    Its output is v2: batches of the old formats are converted.
    """

    def rewrite(self, chunk: SegmentChunk, marks: Marks, *, counts: PassCounts) -> Buffer:
        """Return the retained batches; the buffer is valid until the next call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The factories and functions of a pass, in plain Python or with kernels.

    surveyor    takes the last offsets of ordinary batches to flag
    key_map     see `KeyMaps`
    rewriter    takes the plan
    collector   takes the number of buckets (a power of two), the number of the part's first record,
                and the seed of the key hash
    survivors   takes marks, a block of keys, and the number of its first record in the marks;
                returns the words of the records that are the latest
    mark        takes marks, the number of their first record, and words; marks these as the latest
    striders    for the indexes of the output
    judges      for the proof
    """

    surveyor: Callable[[Collection[int]], Surveyor]
    key_map: KeyMaps
    rewriter: Callable[[CleaningPlan], Rewriter]
    collector: Callable[[int, int, int], KeyCollector]
    survivors: "Callable[[Marks, KeyBlock, int], array[int]]"
    mark: "Callable[[Marks, int, array[int]], None]"
    striders: TailScanners = no_tail_scanner
    judges: RecordVerifiers = plain_record_verifier

"""What is done to the bytes of segments, as contracts: the plain twin and the kernels keep them.

A driver reads a segment in chunks of whole batches and hands each one over as a `Chunk`. The order
is always that of the log. Every batch's checksum and every record that is looked at is checked: a
`BadRecordsError` of the chunk ends the pass, and nothing has been changed.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from cordwood.compaction.marks import Marks
from cordwood.compaction.plan import CleaningPlan
from cordwood.compaction.verify_records import Judges, plain_judge
from cordwood.core.binary import Buffer
from cordwood.records.stride import Striders, no_strider

if TYPE_CHECKING:
    from array import array

#: One behind the largest hash of a key.
HASHES: Final = 1 << 64
#: The bits of a hash from here on say in which bucket a key is; key maps use others.
BUCKET_SHIFT: Final = 44
MOST_BUCKETS: Final = 1 << 10


class Sighting(NamedTuple):
    """What the whole batches say that a buffer begins with; `size` bytes are theirs.

    `records` is how many are numbered (`marks`). `noted` are the positions of those batches that
    may have a fate: of control batches, of transactions, of those asked for.
    """

    size: int
    batches: int
    records: int
    noted: "array[int]"


class Surveyor(Protocol):
    """Looks at headers alone, but that it opens a wrapper of the old formats to count in it."""

    def look(self, data: Buffer) -> Sighting:
        """Go over the whole batches that `data` begins with; none if the first is cut off.

        A BadRecordsError where no batch can begin, or where it counts less than no records.
        """


class Chunk(NamedTuple):
    """Whole batches of one segment, that begin at `position` of it.

    `first_number` is that of the first record that is numbered in it (`marks`). `positions`, in the
    chunk, and `fates` are those of the batches that have one. `modified_ms` is the segment's.

    Chunks whose marks nobody reads may share numbers (`stretches`), which are below those of the
    chunks behind them and above those of the chunks before them all the same.
    """

    data: Buffer
    position: int
    first_number: int
    positions: "array[int]"
    fates: "array[int]"
    modified_ms: int


class NotedKeys(NamedTuple):
    """Records without their values: what parts of a log that are looked at apart tell each other.

    `data` is the keys, one behind the other, of `sizes` bytes each, and `hashes` are theirs. A word
    is twice a record's number in the log, plus 1 for a tombstone.
    """

    data: bytes
    sizes: "array[int]"
    hashes: "array[int]"
    words: "array[int]"


class KeyCollector(Protocol):
    """Takes the keys out of one part of a log that are left in it, in buckets by their hashes.

    Keys that are the same are in the same bucket, whoever collects them.
    """

    def collect(self, chunk: Chunk, marks: Marks, *, offsets: range) -> None:
        """Take those of the records at these offsets that are marked as the latest."""

    def finish(self) -> Iterator[NotedKeys]:
        """Yield what was taken, bucket by bucket."""


class KeyMap(Protocol):
    """The last record of each key, exactly: bytes are compared wherever hashes are equal.

    It goes from hash 0 to `HASHES` in as many ranges as its memory takes: of each range it learns
    all dirty records, then looks all clean ones up, then settles. Keys that are erased count as
    followed by a later record that does not exist. Marks are what it leaves behind.
    """

    def begin(self, first_hash: int) -> None:
        """Forget all keys; take those from this hash on, up to where memory ends."""

    def learn(self, chunk: Chunk, *, first_offset: int) -> None:
        """Remember the records from `first_offset` on, and mark their tombstones.

        When memory is full the range is made smaller, and what lies outside is forgotten.
        """

    def look_up(self, chunk: Chunk, *, end_offset: int) -> None:
        """Mark records below `end_offset` as latest, in the range, whose keys were not learnt.

        Their tombstones are marked too.
        """

    def learn_keys(self, keys: NotedKeys, *, first_number: int) -> None:
        """Remember noted records, which are numbered from `first_number` on, as `learn` does."""

    def look_up_keys(self, keys: NotedKeys, *, first_number: int) -> None:
        """Mark noted records whose keys were not learnt, as `look_up` does."""

    def settle(self) -> int:
        """Mark what was learnt, and return the hash to begin the next range at."""

    @property
    def keys(self) -> int:
        """How many keys were learnt, over all ranges that are settled; not those erased."""

    @property
    def unkeyed(self) -> int:
        """How many of the records that were learnt or looked up have no key, each counted once."""


class KeyMaps(Protocol):
    """Makes key maps."""

    def __call__(
        self, marks: Marks, memory_bytes: int, *, erased: frozenset[bytes], seed: int
    ) -> KeyMap:
        """Return one that sets `marks`, in so much memory; none of the `erased` keys is latest.

        Keys are hashed by the seed. It says which of them share a range, and what is left of none.
        """


@dataclass(slots=True)
class Counts:
    """What a rewrite saw and left; all are sums, but `stream`.

    Records are those that are numbered, markers the records of control batches. Of the batches kept
    some are copied, some emptied, the others written anew. `superseded` have a later record of
    their key, or a key that is erased. `unkeyed` the key map counts, for the marks do not tell: a
    rewrite takes them for superseded.

    `stream` is a hash over offset, time, key, value and headers of every record kept, in order: it
    does not depend on how they are batched or compressed.
    """

    batches_read: int = 0
    batches_kept: int = 0
    batches_copied: int = 0
    batches_emptied: int = 0
    bytes_read: int = 0
    bytes_kept: int = 0
    records_read: int = 0
    records_kept: int = 0
    superseded: int = 0
    unkeyed: int = 0
    tombstones_kept: int = 0
    tombstones_dropped: int = 0
    aborted: int = 0
    markers_kept: int = 0
    markers_dropped: int = 0
    stream: int = 0


class Rewriter(Protocol):
    """Leaves of each batch what is kept; batches that are kept whole are copied, byte for byte.

    What it writes is v2: batches of the old formats are converted.
    """

    def rewrite(self, chunk: Chunk, marks: Marks, *, counts: Counts) -> Buffer:
        """Return the batches that stay, to be used before the next call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """How the parts of a pass are made: plainly, or of kernels.

    surveyor    of the last offsets of batches that are to be noted, whatever they are
    key_map     see `KeyMaps`
    rewriter    of the plan
    collector   of the number of buckets, a power of two, of that of the part's first record, and of
                the seed that keys are hashed by
    survivors   of marks, of noted records and of the first one's number in the marks: the words of
                those that are the latest
    mark        of marks, of the number of their first record, and of words: those are the latest
    striders    for the indexes of what is written
    judges      for the proof that it is right
    """

    surveyor: Callable[[Collection[int]], Surveyor]
    key_map: KeyMaps
    rewriter: Callable[[CleaningPlan], Rewriter]
    collector: Callable[[int, int, int], KeyCollector]
    survivors: "Callable[[Marks, NotedKeys, int], array[int]]"
    mark: "Callable[[Marks, int, array[int]], None]"
    striders: Striders = no_strider
    judges: Judges = plain_judge

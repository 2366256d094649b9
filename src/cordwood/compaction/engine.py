"""What is done to the bytes of segments, as contracts: the plain twin and the kernels keep them.

A driver reads a segment in chunks of whole batches and hands each one over as a `Chunk`. The order
is always that of the log. Every batch's checksum and every record that is looked at is checked: a
`BadRecordsError` of the chunk ends the pass, and nothing has been changed.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from cordwood.compaction.marks import Marks
from cordwood.core.binary import Buffer

if TYPE_CHECKING:
    from array import array

#: One behind the largest hash of a key.
HASHES: Final = 1 << 64


class Chunk(NamedTuple):
    """Whole batches of one segment, that begin at `position` of it.

    `first_number` is that of the first record that is numbered in it (`marks`). `positions`, in the
    chunk, and `fates` are those of the batches that have one. `modified_ms` is the segment's.
    """

    data: Buffer
    position: int
    first_number: int
    positions: "array[int]"
    fates: "array[int]"
    modified_ms: int


class KeyMap(Protocol):
    """The last record of each key, exactly: bytes are compared wherever hashes are equal.

    It goes from hash 0 to `HASHES` in as many ranges as its memory takes: of each range it learns
    all dirty records, then looks all clean ones up, then settles. Keys that are erased count as
    followed by a later record that does not exist. Marks are what it leaves behind.
    """

    def begin(self, first_hash: int) -> None:
        """Forget all keys; take those from this hash on, up to where memory ends."""

    def learn(self, chunk: Chunk, *, first_offset: int) -> None:
        """Remember the records from `first_offset` on, and mark tombstones.

        When memory is full the range is made smaller, and what lies outside is forgotten.
        """

    def look_up(self, chunk: Chunk, *, end_offset: int) -> None:
        """Mark records below `end_offset` as latest, in the range, whose keys were not learnt."""

    def settle(self) -> int:
        """Mark what was learnt, and return the hash to begin the next range at."""

    @property
    def keys(self) -> int:
        """How many keys were learnt, over all ranges that are settled."""


@dataclass(slots=True)
class Counts:
    """What a rewrite saw and left; all are sums, but `stream`.

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
    """Leaves of each batch what is kept; batches that are kept whole are copied, byte for byte."""

    def rewrite(self, chunk: Chunk, marks: Marks, *, counts: Counts) -> Buffer:
        """Return the batches that stay, to be used before the next call."""

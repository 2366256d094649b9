"""What becomes of batches as such, decided by their headers before any key is looked at.

    DROPPED         its records go: data of an aborted transaction, a marker whose time has come
    KEPT_IF_EMPTY   its header stays when nothing else does: the last of a producer, of the pass
    NEEDS_HORIZON   a marker of a transaction of which nothing is left: its time begins to run
    CONTROL         records of brokers: they have no numbers, and no marks

Fates are bits that may come together. Hardly any batch has one, so only those are written down.
"""

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from enum import IntFlag

from cordwood.storage.index import AbortedEntry


class Fate(IntFlag):
    """What a batch's header decides."""

    NONE = 0
    DROPPED = 1
    KEPT_IF_EMPTY = 2
    NEEDS_HORIZON = 4
    CONTROL = 8


@dataclass(slots=True)
class SegmentSurvey:
    """What one segment's headers say: batches by their positions in it, increasing.

    `size` is the bytes of its batches, `first_number` the number of its first record, and `records`
    how many are numbered in it. It is read in chunks, which begin at `chunk_positions`, each with
    the record of `chunk_numbers`. `aborted` goes into the transaction index of the segment that
    takes its place.
    """

    base_offset: int
    first_number: int = 0
    size: int = 0
    records: int = 0
    batches: int = 0
    chunk_positions: "array[int]" = field(default_factory=lambda: array("q"))
    chunk_numbers: "array[int]" = field(default_factory=lambda: array("q"))
    positions: "array[int]" = field(default_factory=lambda: array("q"))
    fates: "array[int]" = field(default_factory=lambda: array("b"))
    aborted: list[AbortedEntry] = field(default_factory=list)

    def add_chunk(self, *, size: int, batches: int, records: int) -> None:
        """Write down a chunk, which lies behind those that were."""
        self.chunk_positions.append(self.size)
        self.chunk_numbers.append(self.first_number + self.records)
        self.size += size
        self.batches += batches
        self.records += records

    def add(self, position: int, fate: Fate) -> None:
        """Write down a batch, which lies behind those that were."""
        self.positions.append(position)
        self.fates.append(fate)

    def between(self, start: int, end: int) -> "tuple[array[int], array[int]]":
        """Return the batches of a stretch, by their positions in it, and their fates."""
        first, stop = bisect_left(self.positions, start), bisect_left(self.positions, end)
        return array("q", [at - start for at in self.positions[first:stop]]), self.fates[first:stop]

    def chunks(self, first: int, stop: int) -> "SegmentSurvey":
        """Return some of the chunks, as of a segment that has no others and ends behind them."""
        ends = [*self.chunk_numbers[first + 1 :], self.first_number + self.records]
        places = [*self.chunk_positions[first + 1 :], self.size]
        number, count = self.chunk_numbers[first], stop - first
        return replace(
            self,
            first_number=number,
            size=places[count - 1],
            records=ends[count - 1] - number,
            chunk_positions=self.chunk_positions[first:stop],
            chunk_numbers=self.chunk_numbers[first:stop],
        )

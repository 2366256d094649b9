"""Batch retention: the decisions about whole batches, made before any key is read.

Kafka: `MemoryRecords.RecordFilter.BatchRetention`.

    DELETE_EMPTY    the default: the batch goes if none of its records is retained
    DELETE          its records go: data of an aborted transaction, or an expired marker
    RETAIN_EMPTY    its header stays even if no record does: the last batch of a producer, or of the
                    pass
    NEEDS_HORIZON   a marker whose transaction has no batch left; this pass sets its delete horizon
    CONTROL         a control batch: its records have no numbers and no marks

The values are bits that combine. Few batches differ from the default, so only those are recorded.
"""

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from enum import IntFlag

from cordwood.storage.segment.transaction_index import AbortedTxn


class BatchRetention(IntFlag):
    """A decision about a batch, made from its header."""

    DELETE_EMPTY = 0
    DELETE = 1
    RETAIN_EMPTY = 2
    NEEDS_HORIZON = 4
    CONTROL = 8


@dataclass(slots=True)
class SegmentSurvey:
    """The survey of one segment's headers; batches are known by their positions, increasing.

    `size` is the bytes of its batches, `first_number` the number of its first record, and `records`
    the count of its numbered records. The segment is read in chunks, which begin at
    `chunk_positions`, each with the record of `chunk_numbers`. `aborted` are the entries for the
    transaction index of the segment that replaces it.
    """

    base_offset: int
    first_number: int = 0
    size: int = 0
    records: int = 0
    batches: int = 0
    chunk_positions: "array[int]" = field(default_factory=lambda: array("q"))
    chunk_numbers: "array[int]" = field(default_factory=lambda: array("q"))
    positions: "array[int]" = field(default_factory=lambda: array("q"))
    retentions: "array[int]" = field(default_factory=lambda: array("b"))
    aborted: list[AbortedTxn] = field(default_factory=list)

    def add_chunk(self, *, size: int, batches: int, records: int) -> None:
        """Append a chunk."""
        self.chunk_positions.append(self.size)
        self.chunk_numbers.append(self.first_number + self.records)
        self.size += size
        self.batches += batches
        self.records += records

    def add_retention(self, position: int, retention: BatchRetention) -> None:
        """Append the retention of a batch, in the order of the log."""
        self.positions.append(position)
        self.retentions.append(retention)

    def retentions_between(self, start: int, end: int) -> "tuple[array[int], array[int]]":
        """Return the batches of a range, by positions relative to `start`, and their retentions."""
        first, stop = bisect_left(self.positions, start), bisect_left(self.positions, end)
        return (
            array("q", [at - start for at in self.positions[first:stop]]),
            self.retentions[first:stop],
        )

    def slice_chunks(self, first: int, stop: int) -> "SegmentSurvey":
        """Return the survey of some chunks, as of a segment that has no other chunks."""
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

"""Lookups in one segment by offset and timestamp (Kafka: `LogSegment.translateOffset`).

A lookup starts at the position of an index entry and reads batch headers from there. A view is a
value of a `pread` function, a size and two indexes. So both the log that owns the segment and a
reader of another process's directory can use it. Records are read only to compare their timestamps
one by one.
"""

from typing import NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import Slice
from cordwood.records.batch_header import BatchHeader
from cordwood.records.batch_stream import AnyBatch, batch_at
from cordwood.records.record_lookup import RecordFinders, plain_record_finder
from cordwood.storage.files.header_scan import Pread, find_batch, headers
from cordwood.storage.segment.offset_index import OffsetIndex
from cordwood.storage.segment.time_index import TimeIndex


class TimestampAndOffset(NamedTuple):
    """A record's timestamp and offset, or a batch's largest timestamp and last offset."""

    timestamp: int
    offset: int
    leader_epoch: int = -1


class SegmentRead(NamedTuple):
    """The bytes from the batch with the requested offset on; the last batch may be incomplete.

    The slice is None if no byte may be read; the position is set even then.
    """

    slice: Slice | None
    position: int
    is_first_incomplete: bool
    header: BatchHeader

    @property
    def length(self) -> int:
        return self.slice.length if self.slice is not None else 0


class SegmentView(NamedTuple):
    """A segment as it is now: the first `size` bytes of the file of `pread`, and the indexes.

    Batches after `size` are not found, even if the indexes have them.
    """

    base_offset: int
    size: int
    pread: Pread
    offset_index: OffsetIndex
    time_index: TimeIndex

    def translate(self, offset: int, from_position: int = 0) -> BatchHeader | None:
        """Return the first batch whose last offset is `offset` or above."""
        position = max(self.offset_index.lookup(offset).position, from_position)
        return find_batch(self.pread, position, self.size, offset=offset)

    def length_to_read(
        self, header: BatchHeader, max_size: int, *, max_position: int | None, min_one: bool
    ) -> int:
        """Return the number of bytes that may be read from the beginning of a batch on.

        At most `max_size`, except for one whole batch with `min_one`, and only to `max_position`.
        """
        limit = max(max_size, header.size) if min_one else max_size
        end = self.size if max_position is None else min(max_position, self.size)
        return max(0, min(limit, end - header.position))

    def find_by_timestamp(self, timestamp: int, first_offset: int) -> TimestampAndOffset | None:
        """Return the first record from `first_offset` on that is not earlier than `timestamp`."""
        begin = self.position_by_timestamp(timestamp, first_offset)
        return self.search_from(begin, timestamp, first_offset=first_offset)

    def position_by_timestamp(self, timestamp: int, first_offset: int) -> int:
        """Return the position from which `search_from` finds the first record in question."""
        indexed = self.time_index.lookup(timestamp)
        return self.offset_index.lookup(max(indexed.offset, first_offset)).position

    def search_from(
        self,
        position: int,
        timestamp: int,
        *,
        first_offset: int,
        finders: RecordFinders = plain_record_finder,
    ) -> TimestampAndOffset | None:
        """Read batches from a position on; return the first record as `find_by_timestamp` does."""
        for header in headers(self.pread, position, self.size):
            if header.max_timestamp < timestamp or header.last_offset < first_offset:
                continue
            found = finders(header.size).find(
                self.batch(header), timestamp=timestamp, first_offset=first_offset
            )
            if found is not None:
                return TimestampAndOffset(*found, leader_epoch=header.partition_leader_epoch)
        return None

    def latest_timestamp(self) -> TimestampAndOffset:
        """Return the largest timestamp and the last offset of the first batch that has it."""
        # The last time entry covers the batches up to its offset; the later ones are scanned.
        indexed = self.time_index.last
        latest = TimestampAndOffset(indexed.timestamp, indexed.offset)
        begin = self.offset_index.lookup(indexed.offset).position
        for header in headers(self.pread, begin, self.size):
            if header.max_timestamp > latest.timestamp:
                latest = TimestampAndOffset(header.max_timestamp, header.last_offset)
        return latest

    def first_batch(self) -> BatchHeader | None:
        """Return the first batch; None in an empty segment."""
        return next(headers(self.pread, 0, self.size), None)

    def next_offset(self) -> int:
        """Return the offset after the last batch; the base offset of an empty segment."""
        found = self.base_offset
        begin = self.offset_index.lookup_below_position(self.size).position
        for header in headers(self.pread, begin, self.size):
            found = header.next_offset
        return found

    def data_of(self, header: BatchHeader) -> Buffer:
        """Return the bytes of a batch."""
        return self.pread(header.size, header.position)

    def batch(self, header: BatchHeader) -> AnyBatch:
        """Return the batch with a header, without checking its checksum."""
        batch = batch_at(self.data_of(header), 0)
        if batch is None:
            raise CorruptMessageError(
                "the batch is incomplete",
                position=header.position,
                base_offset=header.base_offset,
                expected=header.size,
                found="fewer bytes",
            )
        return batch

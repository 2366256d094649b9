"""What is found in one segment: by offset, by time, at its end.

An index says where to begin; from there the batches' headers are read until one fits. A view is a
value: whoever has a pread, a size and the two indexes can look, be it the log that owns the segment
or a reader of somebody else's directory. Records are only read where a time has to be told from the
batch's latest.
"""

from typing import NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import Slice
from cordwood.records.header import BatchHeader
from cordwood.records.record import Record
from cordwood.records.stream import batch_at
from cordwood.storage.index import OffsetIndex, TimeIndex
from cordwood.storage.scan import Pread, batch_with, headers


class TimestampAndOffset(NamedTuple):
    """A record, or the batch that ends with `offset`, by its time."""

    timestamp: int
    offset: int
    leader_epoch: int = -1


class SegmentRead(NamedTuple):
    """Bytes that begin with the batch that has the offset asked for, and may end inside one.

    There is no slice when nothing may be read; then too it is known where it would begin.
    """

    slice: Slice | None
    position: int
    is_first_incomplete: bool
    header: BatchHeader

    @property
    def length(self) -> int:
        return self.slice.length if self.slice is not None else 0


class SegmentView(NamedTuple):
    """A segment as it is now: the first `size` bytes of what `pread` reads, and the indexes.

    The indexes may know of batches behind the size, which are not found.
    """

    base_offset: int
    size: int
    pread: Pread
    offset_index: OffsetIndex
    time_index: TimeIndex

    def translate(self, offset: int, from_position: int = 0) -> BatchHeader | None:
        """Return the first batch whose last offset is `offset` or above."""
        position = max(self.offset_index.lookup(offset).position, from_position)
        return batch_with(self.pread, position, self.size, offset=offset)

    def length_to_read(
        self, header: BatchHeader, max_size: int, *, max_position: int | None, min_one: bool
    ) -> int:
        """Return how many bytes may be read from the beginning of a batch on.

        No more than `max_size`, but for one whole batch with `min_one`; none from `max_position`.
        """
        most = max(max_size, header.size) if min_one else max_size
        end = self.size if max_position is None else min(max_position, self.size)
        return max(0, min(most, end - header.position))

    def find_by_timestamp(self, timestamp: int, first_offset: int) -> TimestampAndOffset | None:
        """Return the first record from `first_offset` on that is not earlier than `timestamp`."""
        indexed = self.time_index.lookup(timestamp)
        begin = self.offset_index.lookup(max(indexed.offset, first_offset)).position
        for header in headers(self.pread, begin, self.size):
            if header.max_timestamp < timestamp or header.last_offset < first_offset:
                continue
            for record in self.records(header):
                if record.timestamp >= timestamp and record.offset >= first_offset:
                    epoch = header.partition_leader_epoch
                    return TimestampAndOffset(record.timestamp, record.offset, epoch)
        return None

    def first_with_timestamp(self, found: TimestampAndOffset) -> TimestampAndOffset | None:
        """Return the first record that has the time of a batch, which ends with the offset."""
        header = self.translate(found.offset)
        if header is None:
            return None
        for record in self.records(header):
            if record.timestamp == found.timestamp:
                epoch = header.partition_leader_epoch
                return TimestampAndOffset(record.timestamp, record.offset, epoch)
        return None

    def latest_timestamp(self) -> TimestampAndOffset:
        """Return the latest time of a batch and that batch's last offset, the first one of ties.

        The last time entry knows it up to its offset; the rest is looked through.
        """
        indexed = self.time_index.last
        latest = TimestampAndOffset(indexed.timestamp, indexed.offset)
        begin = self.offset_index.lookup(indexed.offset).position
        for header in headers(self.pread, begin, self.size):
            if header.max_timestamp > latest.timestamp:
                latest = TimestampAndOffset(header.max_timestamp, header.last_offset)
        return latest

    def first_batch(self) -> BatchHeader | None:
        """Return the first batch, if there is one."""
        return next(headers(self.pread, 0, self.size), None)

    def next_offset(self) -> int:
        """Return the offset after the last batch; the base offset when there is none."""
        found = self.base_offset
        begin = self.offset_index.below_position(self.size).position
        for header in headers(self.pread, begin, self.size):
            found = header.next_offset
        return found

    def data_of(self, header: BatchHeader) -> Buffer:
        """Return the bytes of a batch."""
        return self.pread(header.size, header.position)

    def records(self, header: BatchHeader) -> list[Record]:
        """Return the records of a batch, whose checksum is not looked at."""
        batch = batch_at(self.data_of(header), 0)
        if batch is None:
            raise CorruptMessageError(
                "a batch that is cut off",
                position=header.position,
                base_offset=header.base_offset,
                expected=header.size,
                found="less",
            )
        return list(batch.records())

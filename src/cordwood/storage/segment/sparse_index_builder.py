"""Index entries of appended or recovered batches (Kafka: the index rule of `LogSegment.append`).

The rule for each batch, in order:

1. A later timestamp raises the largest timestamp of the segment.
2. If more than `interval_bytes` are between the last indexed batch, or the segment's beginning, and
   this batch, it gets an offset entry, and the largest timestamp gets a time entry.

So the first batch of a segment is never indexed, and the bytes count from the beginning of the last
indexed batch. A full index stays as it is: lookups then scan further in the log.
"""

from cordwood.core.binary import INT32_MAX
from cordwood.records.batch_header import BatchHeader
from cordwood.records.tail_scan import ScanState, TailScan
from cordwood.storage.segment.offset_index import OffsetEntry, OffsetIndex
from cordwood.storage.segment.time_index import TimeEntry, TimeIndex


class SparseIndexBuilder:
    """The encoded entries of some batches; the caller writes or discards them.

    A caller that continues a segment sets `bytes_since_entry` and `latest` first.
    """

    __slots__ = (
        "_last_offset",
        "_last_time",
        "_offset_index",
        "_time_index",
        "bytes_since_entry",
        "interval_bytes",
        "latest",
        "offset_bytes",
        "time_bytes",
    )

    def __init__(
        self, offset_index: OffsetIndex, time_index: TimeIndex, *, interval_bytes: int
    ) -> None:
        self._offset_index = offset_index
        self._time_index = time_index
        self._last_offset: OffsetEntry | None = None
        self._last_time: TimeEntry | None = None
        self.interval_bytes = interval_bytes
        self.bytes_since_entry = 0
        self.latest = TimeEntry(-1, offset_index.base_offset)
        self.offset_bytes = bytearray()
        self.time_bytes = bytearray()

    def add(self, header: BatchHeader, position: int) -> None:
        """Add the batch that begins at `position` of the segment."""
        if header.max_timestamp > self.latest.timestamp:
            self.latest = TimeEntry(header.max_timestamp, header.last_offset)
        if self.bytes_since_entry > self.interval_bytes:
            self._index(OffsetEntry(header.last_offset, position))
            self.bytes_since_entry = 0
        self.bytes_since_entry += header.size

    def footing(self, next_offset: int) -> ScanState:
        """Return the state from which a stride continues after the batches added so far."""
        highest = self._offset_index.base_offset + INT32_MAX
        return ScanState(
            next_offset, highest, self.interval_bytes, self.bytes_since_entry, *self.latest
        )

    def add_stride(self, stride: TailScan, position: int) -> None:
        """Add all batches of a stride that began at `position` of the segment."""
        for entry in stride.entries:
            self.latest = TimeEntry(entry.latest_timestamp, entry.latest_offset)
            self._index(OffsetEntry(entry.last_offset, position + entry.position))
        after = stride.footing
        self.latest = TimeEntry(after.latest_timestamp, after.latest_offset)
        self.bytes_since_entry = after.bytes_since_entry

    def _index(self, entry: OffsetEntry) -> None:
        self.offset_bytes += self._offset_index.encode(*entry, after=self._last_offset)
        self._last_offset = entry
        time_bytes = self._time_index.encode(*self.latest, after=self._last_time)
        if time_bytes is not None:
            self.time_bytes += time_bytes
            self._last_time = self.latest

"""What batches add to the indexes of their segment, whether they are appended or found again.

Each batch, in order, first raises the latest time, if it is later. Then, if more than
`interval_bytes` lie between it and the batch indexed last, or the segment's beginning, it gets an
offset entry, and the latest time a time entry. So the first batch of a segment has none, and the
bytes are counted from the beginning of the batch that was indexed.

A full index takes no more: indexes are sparse, and a lookup only has further to go.
"""

from cordwood.core.binary import INT32_MAX
from cordwood.records.header import BatchHeader
from cordwood.records.stride import Footing, Stride
from cordwood.storage.index import OffsetEntry, OffsetIndex, TimeEntry, TimeIndex


class IndexGrowth:
    """Gathers entries in bytes; nothing is written, so a growth can be dropped.

    `bytes_since_entry` and `latest` go on from what they are set to at the beginning.
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
        """Take account of the batch that begins at `position` of the segment."""
        if header.max_timestamp > self.latest.timestamp:
            self.latest = TimeEntry(header.max_timestamp, header.last_offset)
        if self.bytes_since_entry > self.interval_bytes:
            self._index(OffsetEntry(header.last_offset, position))
            self.bytes_since_entry = 0
        self.bytes_since_entry += header.size

    def footing(self, next_offset: int) -> Footing:
        """Return what a stride goes on from, behind all that was added."""
        highest = self._offset_index.base_offset + INT32_MAX
        return Footing(
            next_offset, highest, self.interval_bytes, self.bytes_since_entry, *self.latest
        )

    def add_stride(self, stride: Stride, position: int) -> None:
        """Take account of all batches of a stride that began at `position` of the segment."""
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

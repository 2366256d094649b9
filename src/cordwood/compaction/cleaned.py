"""The segments that are to take the place of a group: written under `.cleaned`, and synced.

    begin     a segment of the group's base offset, be it empty in the end
    append    batches, gathered until it pays to write them, and what they add to the indexes; a
              batch whose offset or position has no place in the segment begins the next one
    finish    indexes cut to what is in them, aborted transactions where their markers are, the time
              of the last change, everything on disk but the names

Whoever has finished all groups syncs the directory; whoever fails removes what was made.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Protocol

from cordwood.compaction.job import CleanedSegment
from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.core.ports import Files
from cordwood.core.types import TimestampMs
from cordwood.records.header import BatchHeader, read_header
from cordwood.records.stride import Pace, Strider
from cordwood.storage.file_table import FileTable
from cordwood.storage.index import AbortedEntry, is_within_reach
from cordwood.storage.log_config import LogConfig
from cordwood.storage.names import CLEANED
from cordwood.storage.segment import Segment
from cordwood.storage.segment_files import SegmentPath

#: A log and its three indexes, twice over.
_OPEN_FILES = 8
#: So many bytes are written at once: what stays of a chunk may be a batch or two.
GATHERED_BYTES: Final = 1 << 20


class GroupWriter(Protocol):
    """Takes what stays of one group after the other; what it holds is given back by `close`."""

    def begin(self, base_offset: int) -> None:
        """Begin a group."""

    def append(self, data: Buffer) -> None:
        """Take whole v2 batches."""

    def finish(
        self, aborted: Iterable[AbortedEntry], *, modified_ms: int
    ) -> tuple[CleanedSegment, ...]:
        """End the group, and return its segments."""

    def close(self) -> None:
        """End, in the middle of a group too."""


class CleanedWriter:
    """Writes the new segments of one directory, a group at a time."""

    __slots__ = (
        "_config",
        "_directory",
        "_gathered",
        "_growth",
        "_pace",
        "_segments",
        "_strider",
        "_table",
    )

    def __init__(
        self, files: Files, directory: str, *, config: LogConfig, strider: Strider | None = None
    ) -> None:
        self._directory = directory
        self._config = replace(config, preallocate=False)
        self._strider = strider
        self._pace = Pace()
        self._table = FileTable(files, _OPEN_FILES)
        self._segments: list[Segment] = []
        self._gathered = bytearray()

    @property
    def last(self) -> Segment:
        """The segment that is written."""
        return self._segments[-1]

    def begin(self, base_offset: int) -> None:
        self._segments = []
        self._roll(base_offset)

    def append(self, data: Buffer) -> None:
        self._gathered += data
        if len(self._gathered) >= GATHERED_BYTES:
            self._write()

    def _write(self) -> None:
        """Write what has been gathered."""
        view, at = memoryview(self._gathered), 0
        while at < len(view):
            fitting = at + self._index(view[at:])
            if fitting > at:
                self.last.files.log(writable=True).append(view[at:fitting])
                self.last.size += fitting - at
            if fitting < len(view):
                self._trim()
                self._roll(_header(view, fitting).base_offset)
            at = fitting
        self._gathered = bytearray()

    def finish(
        self, aborted: Iterable[AbortedEntry], *, modified_ms: int
    ) -> tuple[CleanedSegment, ...]:
        self._write()
        self._trim()
        for entry in aborted:
            below = [each for each in self._segments if each.base_offset <= entry.last_offset]
            below[-1].append_aborted(entry)
        for segment in self._segments:
            self._table.files.set_modified(segment.files.log_path, TimestampMs(modified_ms))
            for path in segment.paths():
                self._table.opened(path, writable=True).sync()
        self._table.close()
        return tuple(CleanedSegment(each.base_offset, each.size) for each in self._segments)

    def close(self) -> None:
        self._table.close()

    def _roll(self, base_offset: int) -> None:
        path = SegmentPath(self._directory, base_offset, CLEANED)
        segment = Segment.create(self._table, path, config=self._config, now_ms=0)
        self._segments.append(segment)
        self._growth = segment.new_growth()

    def _trim(self) -> None:
        """Write the indexes of the last segment."""
        self.last.files.write_entries(self._growth)
        self.last.recovered(self._growth)

    def _index(self, data: memoryview) -> int:
        """Take account of the batches that have a place in the last segment; return their bytes."""
        at, begin = 0, self.last.size
        while at < len(data):
            if self._strider is not None and self._pace.is_due():
                at += self._stride(data[at : INT32_MAX - begin], begin + at)
            if at < len(data):
                header = _header(data, at)
                if not self._fits(header, begin + at):
                    break
                self._growth.add(header, begin + at)
                at += header.size
        return at

    def _stride(self, data: memoryview, position: int) -> int:
        """Take account of many ordinary batches at once."""
        assert self._strider is not None, "somebody strides"
        stride = self._strider.stride(data, self._growth.footing(self.last.base_offset))
        self._growth.add_stride(stride, position)
        self._pace.went(stride.batches)
        return stride.end

    def _fits(self, header: BatchHeader, position: int) -> bool:
        base_offset = self.last.base_offset
        return (
            is_within_reach(header.last_offset, base_offset) and position + header.size <= INT32_MAX
        )


def _header(data: memoryview, at: int) -> BatchHeader:
    header = read_header(data, at)
    assert header is not None, "what was rewritten is whole"
    return header

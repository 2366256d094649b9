"""The writer of the segments that replace a group: `.cleaned` files, fsynced.

    begin     starts a segment with the group's base offset, even if it stays empty
    append    gathers batches for large writes, and adds them to the indexes; a batch whose offset
              or position does not fit the segment starts the next one
    finish    trims the indexes, writes the aborted transactions to the segments that have their
              markers, sets the modification time, and fsyncs all files

The caller fsyncs the directory after the last group, and removes the files if the pass fails.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Protocol

from cordwood.compaction.cleaning_job import CleanedSegment
from cordwood.core.binary import INT32_MAX, Buffer
from cordwood.core.ports import Files
from cordwood.core.types import TimestampMs
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.tail_scan import ScanPacing, TailScanner
from cordwood.storage.files.file_names import CLEANED
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.abstract_index import is_in_offset_range
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentPath
from cordwood.storage.segment.transaction_index import AbortedTxn

#: Twice the files of a segment: its log and its three indexes.
_OPEN_FILES = 8
#: Bytes gathered for one write; a chunk may retain a batch or two only.
GATHERED_BYTES: Final = 1 << 20


class GroupWriter(Protocol):
    """A writer of the retained batches, one group at a time."""

    def begin(self, base_offset: int) -> None:
        """Begin a group."""

    def append(self, data: Buffer) -> None:
        """Append whole v2 batches; `data` is copied."""

    def finish(
        self, aborted: Iterable[AbortedTxn], *, modified_ms: int
    ) -> tuple[CleanedSegment, ...]:
        """End the group, and return its segments."""

    def close(self) -> None:
        """Release all files, also in the middle of a group."""


class CountingWriter:
    """The writer of a dry run: it counts the bytes of each group, as if one segment held them."""

    __slots__ = ("_base_offset", "_size")

    def begin(self, base_offset: int) -> None:
        self._base_offset, self._size = base_offset, 0

    def append(self, data: Buffer) -> None:
        self._size += len(data)

    def finish(
        self,
        aborted: Iterable[AbortedTxn],  # noqa: ARG002 - as the port has it
        *,
        modified_ms: int,  # noqa: ARG002 - as the port has it
    ) -> tuple[CleanedSegment, ...]:
        return (CleanedSegment(self._base_offset, self._size),)

    def close(self) -> None:
        """Do nothing: no file is open."""


class CleanedSegmentWriter:
    """The writer of new segments into one directory."""

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
        self, files: Files, directory: str, *, config: LogConfig, strider: TailScanner | None = None
    ) -> None:
        self._directory = directory
        self._config = replace(config, preallocate=False)
        self._strider = strider
        self._pace = ScanPacing()
        self._table = OpenFileCache(files, _OPEN_FILES)
        self._segments: list[LogSegment] = []
        self._gathered = bytearray()

    @property
    def last(self) -> LogSegment:
        """The segment that is being written."""
        return self._segments[-1]

    def begin(self, base_offset: int) -> None:
        self._segments = []
        self._roll(base_offset)

    def append(self, data: Buffer) -> None:
        self._gathered += data
        if len(self._gathered) >= GATHERED_BYTES:
            self._write()

    def _write(self) -> None:
        """Write the gathered batches."""
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
        self, aborted: Iterable[AbortedTxn], *, modified_ms: int
    ) -> tuple[CleanedSegment, ...]:
        self._write()
        self._trim()
        for entry in aborted:
            below = [each for each in self._segments if each.base_offset <= entry.last_offset]
            below[-1].append_aborted(entry)
        for segment in self._segments:
            self._table.files.set_modified(segment.files.log_path, TimestampMs(modified_ms))
            for path in segment.paths():
                self._table.open(path, writable=True).sync()
        self._table.close()
        return tuple(CleanedSegment(each.base_offset, each.size) for each in self._segments)

    def close(self) -> None:
        self._table.close()

    def _roll(self, base_offset: int) -> None:
        path = SegmentPath(self._directory, base_offset, CLEANED)
        segment = LogSegment.create(self._table, path, config=self._config, now_ms=0)
        self._segments.append(segment)
        self._growth = segment.new_index_builder()

    def _trim(self) -> None:
        """Write the indexes of the last segment."""
        self.last.files.write_entries(self._growth)
        self.last.finish_recovery(self._growth)

    def _index(self, data: memoryview) -> int:
        """Index the batches that fit the last segment, and return their bytes."""
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
        """Index many ordinary batches in one call, and return their bytes."""
        assert self._strider is not None, "a strider is set"
        stride = self._strider.stride(data, self._growth.footing(self.last.base_offset))
        self._growth.add_stride(stride, position)
        self._pace.went(stride.batches)
        return stride.end

    def _fits(self, header: BatchHeader, position: int) -> bool:
        base_offset = self.last.base_offset
        return (
            is_in_offset_range(header.last_offset, base_offset)
            and position + header.size <= INT32_MAX
        )


def _header(data: memoryview, at: int) -> BatchHeader:
    header = read_header(data, at)
    assert header is not None, "rewritten batches are whole"
    return header

"""Split of a segment with index overflow (Kafka: `UnifiedLog.splitOverflowedSegment`).

An index entry has 31 bits for the distance of an offset from the base offset. A segment with wider
offsets, as an early version of Kafka's cleaner merged them, is split: its parts are written as
.cleaned and replace it by `segment_swap`. The first part keeps the base offset, even if it contains
no batch.

The parts have no indexes; the caller recovers them next, and after a crash the loader does. Bytes
that are not valid batches stay at the end of the last part, where recovery truncates them.
"""

from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import Files, OpenFile
from cordwood.records.batch_header import BatchHeader
from cordwood.records.record_batch import MAGIC
from cordwood.storage.files.file_names import CLEANED, LOG
from cordwood.storage.files.header_scan import headers
from cordwood.storage.log import segment_swap
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.segment_swap import SegmentReplacement
from cordwood.storage.segment.abstract_index import is_in_offset_range
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.segment_files import SegmentPath

COPY_SIZE: Final = 4 << 20


class SegmentPart(NamedTuple):
    """The range of bytes, from `start` to `end`, that becomes a segment of its own."""

    base_offset: int
    start: int
    end: int


def parts_of(segment: LogSegment) -> list[SegmentPart]:
    """Return the parts of a segment; a single part means that no split is necessary."""
    parts: list[SegmentPart] = []
    base, start, last_offset = segment.base_offset, 0, segment.base_offset - 1
    try:
        for header in headers(segment.files.pread, 0, segment.size):
            if header.last_offset <= last_offset:
                break
            if not is_in_offset_range(header.last_offset, base):
                parts.append(SegmentPart(base, start, header.position))
                base, start = _base_for(header, last_offset), header.position
            last_offset = header.last_offset
    except CorruptMessageError:
        # Recovery reports the invalid bytes from here on, and truncates them.
        pass
    parts.append(SegmentPart(base, start, segment.size))
    return parts


def split(
    state: LogState, segment: LogSegment, *, parts: list[SegmentPart], now_ms: int
) -> list[LogSegment]:
    """Replace a segment of the log by its parts; the caller must recover them."""
    bases = tuple(part.base_offset for part in parts)
    _write(state.table.files, segment, parts)
    replacement = SegmentReplacement((segment.base_offset,), bases, state.bounds.truncations)
    segment_swap.begin(state, replacement, now_ms=now_ms).finish()
    return [each for each in state.segments if each.base_offset in bases]


def _base_for(header: BatchHeader, last_offset: int) -> int:
    """Return the base offset of the part that begins with this batch.

    A batch of an old format states only its last offset. The base offset is then the lowest whose
    index range contains that offset.
    """
    lowest = header.base_offset if header.magic == MAGIC else header.last_offset - INT32_MAX
    return max(last_offset + 1, lowest)


def _write(files: Files, segment: LogSegment, parts: list[SegmentPart]) -> None:
    """Write the parts durably; remove all of them if one cannot be written."""
    directory = segment.files.path.directory
    written: list[str] = []
    try:
        for part in parts:
            path = SegmentPath(directory, part.base_offset, CLEANED)
            target = files.create(path.of(LOG))
            written.append(target.path)
            _copy(segment, target, part=part)
            files.set_modified(target.path, files.stat(segment.files.log_path).modified_ms)
    except OSError:
        for each in written:
            files.remove(each)
        raise
    files.sync_directory(directory)


def _copy(segment: LogSegment, target: OpenFile, *, part: SegmentPart) -> None:
    """Copy a part of a segment into a file, sync and close it."""
    try:
        for start in range(part.start, part.end, COPY_SIZE):
            target.append(segment.files.pread(min(COPY_SIZE, part.end - start), start))
        target.sync()
    finally:
        target.close()

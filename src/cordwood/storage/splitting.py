"""A segment that is too wide for its indexes, split into several with the same bytes.

An index has 31 bits for an offset's distance from the base. Where batches lie further apart than
that, which Kafka's cleaner once made of several segments, the segment is split: its parts are
written as .cleaned and take its place, as `replacing` has it. The first part keeps the base offset,
even if no batch has a place in it.

The parts have no indexes. Whoever splits recovers them next, and if a crash comes between, loading
does. Bytes that are no batches stay where they are, at the end of the last part, for recovery to
judge them.
"""

from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CorruptMessageError
from cordwood.core.ports import Files, OpenFile
from cordwood.records.batch import MAGIC
from cordwood.records.header import BatchHeader
from cordwood.storage import replacing
from cordwood.storage.index import is_within_reach
from cordwood.storage.log_state import LogState
from cordwood.storage.names import CLEANED, LOG
from cordwood.storage.replacing import Replacement
from cordwood.storage.scan import headers
from cordwood.storage.segment import Segment
from cordwood.storage.segment_files import SegmentPath

COPY_SIZE: Final = 4 << 20


class Part(NamedTuple):
    """The bytes from `start` to `end`, which become a segment of their own."""

    base_offset: int
    start: int
    end: int


def parts_of(segment: Segment) -> list[Part]:
    """Return how a segment is to be split; one part is the segment as it is."""
    parts: list[Part] = []
    base, start, last_offset = segment.base_offset, 0, segment.base_offset - 1
    try:
        for header in headers(segment.files.pread, 0, segment.size):
            if header.last_offset <= last_offset:
                break
            if not is_within_reach(header.last_offset, base):
                parts.append(Part(base, start, header.position))
                base, start = _base_for(header, last_offset), header.position
            last_offset = header.last_offset
    except CorruptMessageError:
        # What comes from here on is for recovery to name and to cut off.
        pass
    parts.append(Part(base, start, segment.size))
    return parts


def split(state: LogState, segment: Segment, *, parts: list[Part], now_ms: int) -> list[Segment]:
    """Replace a segment of the log by its parts, which are to be recovered."""
    bases = tuple(part.base_offset for part in parts)
    _write(state.table.files, segment, parts)
    replacement = Replacement((segment.base_offset,), bases, state.bounds.cuts)
    replacing.begin(state, replacement, now_ms=now_ms).finish()
    return [each for each in state.segments if each.base_offset in bases]


def _base_for(header: BatchHeader, last_offset: int) -> int:
    """Return the base of the part that begins with this batch.

    Messages of the old formats only say where they end: the base is the lowest that reaches there.
    """
    lowest = header.base_offset if header.magic == MAGIC else header.last_offset - INT32_MAX
    return max(last_offset + 1, lowest)


def _write(files: Files, segment: Segment, parts: list[Part]) -> None:
    """Write the parts; when that fails, for want of space say, none is left."""
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


def _copy(segment: Segment, target: OpenFile, *, part: Part) -> None:
    """Write a part of a segment, durably, and close the file."""
    try:
        for start in range(part.start, part.end, COPY_SIZE):
            target.append(segment.files.pread(min(COPY_SIZE, part.end - start), start))
        target.sync()
    finally:
        target.close()

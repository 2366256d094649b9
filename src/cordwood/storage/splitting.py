"""A segment that is too wide for its indexes, split into several with the same bytes.

An index has 31 bits for an offset's distance from the base. Where batches lie further apart than
that, which Kafka's cleaner once made of several segments, the segment is split, and a crash at any
point leaves the one or the others:

    1. write      the parts as .cleaned, synced          a crash: worthless, they are removed
    2. decide     they become .swap, the first one last  a crash: while one is .cleaned all go
    3. set aside  the segment becomes .deleted           a crash: all are .swap, `leftovers` goes on
    4. replace    .swap is taken off, lowest first       a crash: the same

The directory is synced between the steps, and between the renames of the last one, since a crash
may keep a later rename and lose an earlier one. The first part keeps the base offset, even if no
batch has a place in it: so what is .swap covers the segment, and its snapshot stays true.

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
from cordwood.storage.index import is_within_reach
from cordwood.storage.log_state import LogState
from cordwood.storage.names import CLEANED, DELETED, LOG, SWAP
from cordwood.storage.roll import draw_jitter_ms
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
    files, directory = state.table.files, state.directory
    paths = [SegmentPath(directory, part.base_offset) for part in parts]
    _write(files, segment, list(zip(parts, paths, strict=True)))
    for step in (paths[:0:-1], paths[:1]):
        for path in step:
            _rename(files, path, CLEANED, SWAP)
        files.sync_directory(directory)
    state.segments.remove(segment)
    segment.change_suffix(DELETED)
    files.sync_directory(directory)
    for path in paths:
        _rename(files, path, SWAP, "")
        files.sync_directory(directory)
    state.deletions.remove_later(segment.paths(), delay_ms=state.config.file_delete_delay_ms)
    return [_opened(state, path, now_ms) for path in paths]


def _base_for(header: BatchHeader, last_offset: int) -> int:
    """Return the base of the part that begins with this batch.

    Messages of the old formats only say where they end: the base is the lowest that reaches there.
    """
    lowest = header.base_offset if header.magic == MAGIC else header.last_offset - INT32_MAX
    return max(last_offset + 1, lowest)


def _write(files: Files, segment: Segment, parts: list[tuple[Part, SegmentPath]]) -> None:
    """Write the parts; when that fails, for want of space say, none is left."""
    written: list[str] = []
    try:
        for part, path in parts:
            target = files.create(_suffixed(path, CLEANED))
            written.append(target.path)
            _copy(segment, target, part=part)
            files.set_modified(target.path, files.stat(segment.files.log_path).modified_ms)
    except OSError:
        for each in written:
            files.remove(each)
        raise
    files.sync_directory(segment.files.path.directory)


def _copy(segment: Segment, target: OpenFile, *, part: Part) -> None:
    """Write a part of a segment, durably, and close the file."""
    try:
        for start in range(part.start, part.end, COPY_SIZE):
            target.append(segment.files.pread(min(COPY_SIZE, part.end - start), start))
        target.sync()
    finally:
        target.close()


def _opened(state: LogState, path: SegmentPath, now_ms: int) -> Segment:
    segment = Segment.open(
        state.table,
        path,
        config=state.config,
        now_ms=now_ms,
        jitter_ms=draw_jitter_ms(state.random, state.config),
    )
    state.segments.add(segment)
    return segment


def _rename(files: Files, path: SegmentPath, suffix: str, new_suffix: str) -> None:
    files.rename(_suffixed(path, suffix), _suffixed(path, new_suffix))


def _suffixed(path: SegmentPath, suffix: str) -> str:
    return f"{path.of(LOG)}{suffix}"

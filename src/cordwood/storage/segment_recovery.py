"""Makes a segment right that nobody closed: what is whole and follows is kept, the rest is cut off.

    size and magic   bound the batch within the file
    checksum         over the batch as it lies; its records are not read, as Kafka does not
    offset           follows the ones before it, and has a place in the segment
    caller           hears of each batch, for its epochs and producers, and may refuse it too

The first batch that fails ends the log: nothing behind it can be believed, for a file system may
have written a later page and lost an earlier one. The indexes are written anew; that of the
transactions the caller fills as it hears of markers. Windows are large, since everything is read.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import CorruptMessageError, DamagedFileError, InvalidRecordError
from cordwood.core.ports import OpenFile
from cordwood.records.header import LARGEST_HEADER, BatchHeader, ensure_crc, read_header
from cordwood.records.place import Place
from cordwood.storage.index import relative_offset
from cordwood.storage.reader_indexes import CheckedOffsetIndex, CheckedTimeIndex
from cordwood.storage.scan import headers
from cordwood.storage.segment import Segment

WINDOW_SIZE: Final = 4 << 20

#: Hears of a whole batch: its header, with its position in the file, and its bytes, which are only
#: valid during the call. CorruptMessageError and InvalidRecordError end the log before the batch.
OnBatch: TypeAlias = Callable[[BatchHeader, memoryview], object]


class Recovered(NamedTuple):
    """How many bytes were cut off, and what was wrong with the first of them."""

    cut_bytes: int
    fault: CorruptMessageError | InvalidRecordError | None
    next_offset: int


def is_sane(segment: Segment) -> bool:
    """Whether a segment that was closed may be used without recovery.

    That takes an offset index, and aborted transactions that are its own; a time index that is
    missing is made, empty. Zeros behind the entries were not cut off before a crash. What else the
    indexes say of the log is not looked at but where the log ends (`ends_whole`).
    """
    files = segment.files
    if not files.offset_entries.exists or files.is_padded():
        return False
    if not files.time_entries.exists:
        files.time_entries.trim()
    try:
        files.transaction_index.check()
    except DamagedFileError:
        return False
    return True


def ends_whole(segment: Segment) -> bool:
    """Whether the indexes end truly, and batches follow from there up to the very end.

    The next append goes on from there: behind an entry that lies none could be written.
    """
    position, next_offset = segment.files.offset_index.last.position, segment.base_offset
    if position < 0:
        return False
    try:
        for header in headers(segment.files.pread, position, segment.size):
            position, next_offset = header.end, header.next_offset
    except CorruptMessageError:
        return False
    is_whole = position == segment.size and next_offset <= INT64_MAX
    return is_whole and _has_true_ends(segment, next_offset)


def _has_true_ends(segment: Segment, next_offset: int) -> bool:
    """Whether each index has whole entries, and its last one names what the log has there."""
    files = segment.files
    offset_index, time_index, aborted = (
        files.offset_index,
        files.time_index,
        files.transaction_index.last,
    )
    try:
        offset_index.check()
        time_index.check()
    except DamagedFileError:
        return False
    named = [index.last.offset for index in (offset_index, time_index) if index.entries.count]
    named += [] if aborted is None else [aborted.last_offset]
    offsets = CheckedOffsetIndex(
        segment.base_offset, offset_index.entries, pread=files.pread, size=segment.size
    )
    times = CheckedTimeIndex(time_index.entries, offsets, pread=files.pread, size=segment.size)
    return (
        max(named, default=-1) < next_offset
        and offsets.lookup(offset_index.last.offset) == offset_index.last
        and times.last == time_index.last
    )


def recover(
    segment: Segment, on_batch: OnBatch, *, before_cut: Callable[[], object] | None = None
) -> Recovered:
    """Check every batch, write the indexes anew, cut off what is not whole.

    `before_cut` is called once it is known that something is to be cut off, if so.
    SegmentOverflowError rises, with the segment left without indexes, where an offset has no place.
    """
    files = segment.files
    files.reset_indexes()
    growth = segment.new_growth()
    end, next_offset = 0, segment.base_offset
    fault: CorruptMessageError | InvalidRecordError | None = None
    log = files.table.pin(files.log_path)
    try:
        for header, data in _batches(log, segment.size):
            ensure_crc(header, data)
            _ensure_follows(header, next_offset)
            relative_offset(header.last_offset, segment.base_offset)
            on_batch(header, data)
            growth.add(header, header.position)
            end, next_offset = header.end, header.next_offset
    except (CorruptMessageError, InvalidRecordError) as error:
        fault = error
    finally:
        files.table.unpin(log)
    if before_cut is not None and end < segment.size:
        before_cut()
    cut_bytes = segment.cut_at(end)
    files.write_entries(growth)
    segment.recovered(growth)
    return Recovered(cut_bytes, fault, next_offset)


def _ensure_follows(header: BatchHeader, next_offset: int) -> None:
    """Refuse a batch whose offsets, which no checksum covers, lie below those before it.

    A write of which the first page was lost looks like that: what comes before it is still right.
    """
    if not next_offset <= header.base_offset <= header.last_offset < INT64_MAX:
        raise Place(header.position, header.base_offset).corrupt(
            "offsets that do not follow those before them",
            expected=f"at least {next_offset}",
            found=f"{header.base_offset} to {header.last_offset}",
        )


def _batches(file: OpenFile, size: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield every whole batch of a file and its bytes, out of one buffer that is used again."""
    window = memoryview(bytearray(max(LARGEST_HEADER, min(WINDOW_SIZE, size))))
    held, start, position = window[:0], -1, 0
    while position < size:
        header = read_header(held, position - start, position=position)
        needed = LARGEST_HEADER if header is None else header.size
        is_cut_off = header is not None and header.end > size
        if header is not None and header.end <= start + len(held):
            yield header, held[position - start : header.end - start]
            position = header.end
        elif is_cut_off or (start == position and needed <= len(window)):
            return
        else:
            if needed > len(window):
                window = memoryview(bytearray(needed))
            held, start = window[: file.pread_into(window[: size - position], position)], position

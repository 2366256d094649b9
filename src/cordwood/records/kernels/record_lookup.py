"""Kernel of `records.record_lookup`: the first record of a v2 batch at or after a timestamp.

The kernel takes the range of the records, decompressed if necessary. It returns three words: the
position after the last record that it has read, or -1 for an invalid record, and the offset delta
and the timestamp of the record in question. The delta is -1 without one. The plain reader words the
error of an invalid record, and reads the old formats.
"""

from array import array
from typing import Final, NoReturn, cast

from cordwood.core.binary import INT64_MIN
from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT
from cordwood.records.kernels.intrinsics import wrapping_sum
from cordwood.records.kernels.kernel_definition import (
    INT,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    kernel,
    several,
)
from cordwood.records.kernels.record_checks import (
    RecordHeader,
    read_range,
    read_record_header,
)
from cordwood.records.kernels.room import Room
from cordwood.records.kernels.v2_record import (
    R_OFFSET,
    R_STOP,
    R_TIMESTAMP,
    is_inside,
    read_record,
)
from cordwood.records.record_batch import LOG_APPEND_TIME_BIT, RecordBatch
from cordwood.records.record_lookup import PlainRecordFinder, RecordPosition

W_COUNT = 0
W_LAST_DELTA = 1
W_BASE_TIMESTAMP = 2
W_TIMESTAMP = 3
W_FIRST_DELTA = 4
QUESTION_WORDS: Final = 5

_PLAIN: Final = PlainRecordFinder()


@kernel(several(3), SOURCE, INT, INT, WORDS.of(QUESTION_WORDS))
def find_record(source: Bytes, position: int, end: int, words: Words) -> tuple[int, int, int]:
    """Read records up to the first one that qualifies."""
    if not is_inside(source, position, end):
        return -1, -1, 0
    lowest = 0
    for _ in range(words[W_COUNT]):
        record = read_record(source, position, end)
        position = record[R_STOP]
        delta = record[R_OFFSET]
        if position < 0 or delta < lowest or delta > words[W_LAST_DELTA]:
            return -1, -1, 0
        lowest = delta + 1
        timestamp = wrapping_sum(words[W_BASE_TIMESTAMP], record[R_TIMESTAMP])
        if delta >= words[W_FIRST_DELTA] and timestamp >= words[W_TIMESTAMP]:
            return position, delta, timestamp
    if position != end:
        position = -1
    return position, -1, 0


class KernelRecordFinder:
    """A finder with the kernel."""

    __slots__ = ("_room",)

    def __init__(self) -> None:
        self._room = Room()

    def find(self, batch: AnyBatch, *, timestamp: int, first_offset: int) -> RecordPosition | None:
        """Return the first record that qualifies; see `RecordFinder`."""
        if not isinstance(batch, RecordBatch):
            return _PLAIN.find(batch, timestamp=timestamp, first_offset=first_offset)
        header = read_record_header(batch)
        records = read_range(batch, header, self._room, limit=DEFAULT_LIMIT)
        if records is None:
            _refuse(batch, timestamp, first_offset)
        words = _words(header, timestamp=timestamp, first_offset=first_offset)
        stop, delta, found = find_record(*records, words)
        if stop < 0:
            _refuse(batch, timestamp, first_offset)
        if delta < 0:
            return None
        if header.attributes & LOG_APPEND_TIME_BIT:
            found = header.max_timestamp
        return RecordPosition(found, header.base_offset + delta)


def _words(header: RecordHeader, *, timestamp: int, first_offset: int) -> Words:
    """Return the question as the kernel takes it."""
    none = header.last_delta + 1
    first_delta = max(0, min(first_offset - header.base_offset, none))
    if header.attributes & LOG_APPEND_TIME_BIT:
        # The log has dated the batch: all of its records qualify, or none.
        first_delta = first_delta if header.max_timestamp >= timestamp else none
        timestamp = INT64_MIN
    words = header.record_count, header.last_delta, header.base_timestamp, timestamp, first_delta
    return cast("Words", array("q", words))


def _refuse(batch: RecordBatch, timestamp: int, first_offset: int) -> NoReturn:
    """Raise the error of a batch."""
    _PLAIN.find(batch, timestamp=timestamp, first_offset=first_offset)
    raise InvalidRecordError(
        "the kernel rejects a batch that the plain reader accepts",
        position=batch.position,
        base_offset=batch.base_offset,
    )

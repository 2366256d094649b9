"""Kernel of `records.record_lines`: lines written from the bytes of a v2 batch.

The kernel takes the range of the records, decompressed if necessary, and writes text into a slab
that is large enough for the worst case. It rejects some batches with -1: invalid records, text that
is not UTF-8, the one number without a magnitude. The plain writer then takes the whole batch.

    LITERALS   the words of a line, each at a multiple of WIDE, copied whole and used in part
    PAIRS      00 01 02 ... 99: numbers are written two digits at a time, from the last one on
"""

from typing import Final

import numpy as np

from cordwood.core.binary import INT32_MAX, INT64_MAX, INT64_MIN
from cordwood.core.errors import CordwoodError
from cordwood.core.java_text import utf8_as_java
from cordwood.records.compression import Codec
from cordwood.records.decoder import Selection
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.intrinsics import copy, copy_wide, store_8, wrapping_sum
from cordwood.records.kernels.kernel_definition import (
    INT,
    SLAB,
    SOURCE,
    WORDS,
    Bytes,
    Words,
    inlined,
    kernel,
    several,
)
from cordwood.records.kernels.layout import WIDE
from cordwood.records.kernels.room import Room, Stretch
from cordwood.records.kernels.utf8_text import utf8
from cordwood.records.kernels.v2_record import (
    R_HEADERS,
    R_KEY,
    R_KEY_SIZE,
    R_OFFSET,
    R_STOP,
    R_TAIL,
    R_TIMESTAMP,
    R_VALUE,
    R_VALUE_SIZE,
    Record,
    is_inside,
    read_record,
    skip,
    varint,
)
from cordwood.records.record import TimestampType
from cordwood.records.record_batch import HEADER_SIZE, RecordBatch
from cordwood.records.record_lines import NOTHING, LineStyle, PlainLineWriter, RecordLines
from cordwood.records.v2_record import SMALLEST_RECORD

#: Inputs of the kernel: of the batch, of the lines, of the selected records.
N_BASE_OFFSET, N_BASE_TIMESTAMP, N_STAMP, N_IS_STAMPED, N_BASE_SEQUENCE, N_COUNT = range(6)
N_PREVIOUS, N_HAS_METADATA, N_HAS_DATA, N_FIRST, N_LAST, N_EARLIEST, N_LATEST = range(6, 13)
#: The kernel's words of the present record.
N_OFFSET, N_TIMESTAMP = range(13, 15)
WORD_COUNT: Final = 15

#: The largest metadata of a line without its header keys, and a bar with two names.
LONGEST_LINE: Final = 200

_TEXTS: Final = (
    b"| offset: ",
    b" CreateTime: ",
    b" LogAppendTime: ",
    b" keySize: ",
    b" valueSize: ",
    b" sequence: ",
    b" headerKeys: [",
    b" sequence: -1 headerKeys: []",
    b"| key: ",
    b" key: ",
    b"| payload: ",
    b" payload: ",
)
T_OFFSET, T_CREATE, T_APPEND, T_KEY_SIZE, T_VALUE_SIZE, T_SEQUENCE, T_HEADERS = range(7)
T_PLAIN_END, T_BAR_KEY, T_KEY, T_BAR_VALUE, T_VALUE = range(7, 12)
LITERALS: Final = read_only(b"".join(text.ljust(WIDE) for text in _TEXTS))
PAIRS: Final = read_only(b"".join(b"%02d" % pair for pair in range(100)))
LENGTHS: Final = tuple(len(text) for text in _TEXTS)

_NEWLINE, _MINUS, _ZERO, _COMMA, _BRACKET = 10, 45, 48, 44, 93
_MOST_DIGITS = 19
_PLAIN: Final = PlainLineWriter()
_EVERYTHING: Final = Selection(first_offset=INT64_MIN)


@inlined
def _literal(out: Bytes, at: int, text: int) -> int:
    copy_wide(out, at, LITERALS, text * WIDE)
    return at + LENGTHS[text]


@inlined
def number_text(out: Bytes, at: int, number: int) -> int:
    """Write a number other than INT64_MIN, and return its end."""
    if number < 0:
        store_8(out, at, _MINUS)
        at += 1
        number = -number
    size = 1
    limit = 10
    while size < _MOST_DIGITS and number >= limit:
        limit *= 10
        size += 1
    end = at + size
    at = end
    while number >= 100:
        rest = number // 100
        at -= 2
        copy(out, at, PAIRS, 2 * (number - 100 * rest), 2)
        number = rest
    if number >= 10:
        copy(out, at - 2, PAIRS, 2 * number, 2)
    else:
        store_8(out, at - 1, _ZERO + number)
    return end


@inlined
def _sequence(base: int, delta: int) -> int:
    """Return the sequence of a record; it restarts at 0 after the highest one."""
    if base > INT32_MAX - delta:
        return delta - (INT32_MAX - base) - 1
    return base + delta


@inlined
def _header_keys(source: Bytes, record: Record, out: Bytes, at: int) -> int:
    """Write the keys of the validated headers, or return -1 when one of them is not UTF-8."""
    stop = record[R_STOP]
    position = varint(source, record[R_TAIL], stop)[1]
    for index in range(record[R_HEADERS]):
        if index:
            store_8(out, at, _COMMA)
            at += 1
        size, key_at = varint(source, position, stop)
        if utf8(source, key_at, key_at + size) < 0:
            return -1
        copy(out, at, source, key_at, size)
        at += size
        size, position = varint(source, key_at + size, stop)
        position = skip(position, size, stop)
    return at


@inlined
def _metadata(source: Bytes, record: Record, words: Words, out: Bytes, at: int) -> int:
    """Write the fields of a record after its offset and timestamp; -1 as `_header_keys`."""
    at = number_text(out, _literal(out, at, T_KEY_SIZE), max(record[R_KEY_SIZE], -1))
    at = number_text(out, _literal(out, at, T_VALUE_SIZE), max(record[R_VALUE_SIZE], -1))
    base = words[N_BASE_SEQUENCE]
    if base < 0 and record[R_HEADERS] == 0:
        return _literal(out, at, T_PLAIN_END)
    sequence = -1 if base < 0 else _sequence(base, record[R_OFFSET])
    at = number_text(out, _literal(out, at, T_SEQUENCE), sequence)
    at = _header_keys(source, record, out, _literal(out, at, T_HEADERS))
    if at < 0:
        return -1
    store_8(out, at, _BRACKET)
    return at + 1


@inlined
def _data(source: Bytes, record: Record, has_metadata: int, out: Bytes, at: int) -> int:
    """Write key and value, or return -1 when one of them is not UTF-8."""
    is_behind_bar = has_metadata != 0
    size, start = record[R_KEY_SIZE], record[R_KEY]
    if size >= 0:
        if utf8(source, start, start + size) < 0:
            return -1
        at = _literal(out, at, T_KEY if is_behind_bar else T_BAR_KEY)
        copy(out, at, source, start, size)
        at += size
        is_behind_bar = True
    size, start = record[R_VALUE_SIZE], record[R_VALUE]
    if size >= 0:
        if utf8(source, start, start + size) < 0:
            return -1
        at = _literal(out, at, T_VALUE if is_behind_bar else T_BAR_VALUE)
        copy(out, at, source, start, size)
        at += size
    return at


@inlined
def _line(source: Bytes, record: Record, words: Words, out: Bytes, at: int) -> int:
    """Write a record's whole line; -1 when it has text that cannot be written here."""
    if words[N_HAS_METADATA]:
        label = T_APPEND if words[N_IS_STAMPED] else T_CREATE
        at = number_text(out, _literal(out, at, T_OFFSET), words[N_OFFSET])
        at = number_text(out, _literal(out, at, label), words[N_TIMESTAMP])
        at = _metadata(source, record, words, out, at)
        if at < 0:
            return -1
    if words[N_HAS_DATA]:
        at = _data(source, record, words[N_HAS_METADATA], out, at)
        if at < 0:
            return -1
    store_8(out, at, _NEWLINE)
    return at + 1


@inlined
def _is_wanted(words: Words, offset: int, timestamp: int) -> bool:
    is_in_range = words[N_FIRST] <= offset <= words[N_LAST]
    is_in_time = words[N_EARLIEST] <= timestamp <= words[N_LATEST]
    return bool(is_in_range and is_in_time)


@inlined
def _has_room(words: Words, size: int, out: Bytes, gaps: Words) -> bool:
    """Return whether the lines and gaps of the records surely fit."""
    count = words[N_COUNT]
    needed = count * LONGEST_LINE + 2 * size + WIDE
    return bool(len(out) >= needed and len(gaps) >= 2 * count)


@kernel(several(3), SOURCE, INT, INT, WORDS.of(WORD_COUNT), SLAB, WORDS)
def write_lines(
    source: Bytes, position: int, end: int, words: Words, out: Bytes, gaps: Words
) -> tuple[int, int, int]:
    """Write the lines of a batch; return their end, the last offset, the number of gaps."""
    if not is_inside(source, position, end) or not _has_room(words, end - position, out, gaps):
        return -1, 0, 0
    at = 0
    found = 0
    previous = words[N_PREVIOUS]
    for _ in range(words[N_COUNT]):
        record = read_record(source, position, end)
        position = record[R_STOP]
        if position < 0 or record[R_OFFSET] < 0:
            return -1, 0, 0
        offset = wrapping_sum(words[N_BASE_OFFSET], record[R_OFFSET])
        timestamp = wrapping_sum(words[N_BASE_TIMESTAMP], record[R_TIMESTAMP])
        if words[N_IS_STAMPED]:
            timestamp = words[N_STAMP]
        if INT64_MIN in (offset, timestamp):
            return -1, 0, 0
        if not _is_wanted(words, offset, timestamp):
            continue
        words[N_OFFSET] = offset
        words[N_TIMESTAMP] = timestamp
        if previous not in (offset - 1, NOTHING):
            gaps[2 * found] = previous
            gaps[2 * found + 1] = offset
            found += 1
        previous = offset
        at = _line(source, record, words, out, at)
        if at < 0:
            return -1, 0, 0
    if position != end:
        return -1, 0, 0
    return at, previous, found


class KernelLineWriter:
    """A line writer with the kernel; keeps its slabs between batches."""

    __slots__ = ("_gaps", "_out", "_room", "_words")

    def __init__(self) -> None:
        self._room = Room()
        self._words: Words = np.zeros(WORD_COUNT, np.int64)
        self._out: Bytes = np.zeros(0, np.uint8)
        self._gaps: Words = np.zeros(0, np.int64)

    def write(self, batch: RecordBatch, style: LineStyle, *, previous: int) -> RecordLines:
        """Return the lines of a batch; see `LineWriter`."""
        count = batch.count
        is_ours = count > 0 and style.key_text is style.value_text is utf8_as_java
        stretch = self._stretch(batch, style.limit) if is_ours else None
        if stretch is None:
            return _PLAIN.write(batch, style, previous=previous)
        source, start, end = stretch
        if count > (end - start) // SMALLEST_RECORD:
            return _PLAIN.write(batch, style, previous=previous)
        self._prepare(batch, style, previous)
        self._make_room(count, end - start)
        stop, last, found = write_lines(source, start, end, self._words, self._out, self._gaps)
        if stop < 0:
            return _PLAIN.write(batch, style, previous=previous)
        pairs = self._gaps[: 2 * found].reshape(-1, 2).tolist() if found else ()
        gaps = [(before, after) for before, after in pairs]
        return RecordLines(self._out[:stop].tobytes(), last, gaps)

    def _stretch(self, batch: RecordBatch, limit: int) -> Stretch | None:
        """Return the range of the records, decompressed if necessary; None if they are bad."""
        try:
            codec = batch.codec
            if codec is Codec.NONE:
                return read_only(batch.view), batch.position + HEADER_SIZE, batch.end
            packed = batch.payload
        except CordwoodError:
            return None
        return self._room.unpack(codec, packed, limit=limit)

    def _prepare(self, batch: RecordBatch, style: LineStyle, previous: int) -> None:
        selection = style.selection or _EVERYTHING
        self._words[:] = (
            batch.base_offset,
            batch.base_timestamp,
            batch.max_timestamp,
            batch.timestamp_type is TimestampType.LOG_APPEND_TIME,
            batch.base_sequence,
            batch.count,
            previous,
            style.has_metadata,
            style.has_data,
            selection.first_offset,
            selection.last_offset,
            selection.min_timestamp,
            selection.max_timestamp,
            0,
            0,
        )

    def _make_room(self, count: int, size: int) -> None:
        """Ensure slabs for the worst case."""
        needed = count * LONGEST_LINE + 2 * size + WIDE
        if len(self._out) < needed:
            self._out = np.empty(2 * needed, np.uint8)
        if len(self._gaps) < 2 * count:
            self._gaps = np.empty(4 * count, np.int64)


assert max(LENGTHS) <= WIDE
assert INT64_MAX < 10**_MOST_DIGITS

"""Kernels of `records.record_encoder`: records written from columns, and partitions of keys.

Every column is bytes: numbers of 64 bits are read in place. The range of a row is compared with its
column's end before the record is started, so no byte outside is copied. A batch ends where a record
does not fit the slab.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np

from cordwood.core.binary import Buffer
from cordwood.records import murmur2
from cordwood.records.batch_builder import EncodedRecords
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.intrinsics import (
    byte_at,
    copy,
    store_8,
    store_64,
    word_at,
    wrapping_sum,
)
from cordwood.records.kernels.kernel_definition import (
    INT,
    SLAB,
    SOURCE,
    Bytes,
    inlined,
    kernel,
    several,
    together,
)
from cordwood.records.kernels.varints import put_number, size_of_number
from cordwood.records.record_encoder import ANY_PARTITION, ByteColumn, RecordColumns, outside

#: Starts, sizes and data of a column of bytes.
Column: TypeAlias = tuple[Bytes, Bytes, Bytes]
#: Starts and counts of lists of headers, then the columns of their keys and values.
Headers: TypeAlias = tuple[Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes, Bytes]
#: Timestamps, and the numbers of the rows.
Rows: TypeAlias = tuple[Bytes, Bytes]

COLUMN: Final = together(SOURCE, 3)
HEADERS: Final = together(SOURCE, 8)
ROWS: Final = together(SOURCE, 2)

#: The size of a record whose row is outside the columns.
_OUTSIDE: Final = -1
_SEED, _FACTOR = murmur2.SEED, murmur2.FACTOR
_MASK, _POSITIVE = murmur2.MASK, murmur2.POSITIVE


@inlined
def _number(numbers: Bytes, row: int) -> int:
    return word_at(numbers, 8 * row)


@inlined
def _has(start: int, size: int, end: int) -> bool:
    """Return whether a range is inside a column; an empty range is anywhere."""
    return size <= 0 or 0 <= start <= end - size


@inlined
def _size_of_bytes(column: Column, row: int) -> int:
    """Return the size of a row's bytes with their length, which is -1 for null."""
    size = max(_number(column[1], row), -1)
    if not _has(_number(column[0], row), size, len(column[2])):
        return _OUTSIDE
    return size_of_number(size) + max(size, 0)


@inlined
def _put_bytes(slab: Bytes, to: int, column: Column, row: int) -> int:
    size = max(_number(column[1], row), -1)
    to = put_number(slab, to, size)
    if size > 0:
        copy(slab, to, column[2], _number(column[0], row), size)
        to += size
    return to


@inlined
def _size_of_headers(headers: Headers, row: int) -> int:
    """Return the size of the headers of a row with their count."""
    start, count = _number(headers[0], row), max(_number(headers[1], row), 0)
    if not _has(start, count, len(headers[3]) // 8):
        return _OUTSIDE
    total = size_of_number(count)
    for each in range(start, start + count):
        key = _size_of_bytes((headers[2], headers[3], headers[4]), each)
        value = _size_of_bytes((headers[5], headers[6], headers[7]), each)
        if min(key, value) == _OUTSIDE:
            return _OUTSIDE
        total += key + value
    return total


@inlined
def _put_headers(slab: Bytes, to: int, headers: Headers, row: int) -> int:
    start, count = _number(headers[0], row), max(_number(headers[1], row), 0)
    to = put_number(slab, to, count)
    for each in range(start, start + count):
        to = _put_bytes(slab, to, (headers[2], headers[3], headers[4]), each)
        to = _put_bytes(slab, to, (headers[5], headers[6], headers[7]), each)
    return to


@inlined
def _size_of_contents(keys: Column, values: Column, headers: Headers, row: int) -> int:
    """Return the size of a record after its deltas."""
    key, value = _size_of_bytes(keys, row), _size_of_bytes(values, row)
    rest = _size_of_headers(headers, row)
    if min(key, value, rest) == _OUTSIDE:
        return _OUTSIDE
    return key + value + rest


@inlined
def _has_rows(column: Column, count: int) -> bool:
    """Return whether a column has starts and sizes of N rows."""
    return min(len(column[0]), len(column[1])) // 8 >= count


@inlined
def _are_whole(keys: Column, values: Column, headers: Headers, count: int) -> bool:
    """Return whether all columns have N rows, and each header a key and a value."""
    if not _has_rows(keys, count) or not _has_rows(values, count):
        return False
    if not _has_rows((headers[0], headers[1], headers[1]), count):
        return False
    names = len(headers[3]) // 8
    return _has_rows((headers[2], headers[3], headers[4]), names) and _has_rows(
        (headers[5], headers[6], headers[7]), names
    )


@kernel(several(3), COLUMN, COLUMN, HEADERS, ROWS, INT, SLAB)
def write_records(
    keys: Column, values: Column, headers: Headers, rows: Rows, first: int, slab: Bytes
) -> tuple[int, int, int]:
    """Write rows from `first` on, as many as fit the slab.

    Returns the row after the last written one, its end, and the latest time. If none was written,
    the second number is the size of the first record, or -1 for a row outside the columns.
    """
    times, chosen = rows
    count, end = len(times) // 8, len(chosen) // 8
    to, place, newest, base = 0, first, 0, 0
    if first < 0 or not _are_whole(keys, values, headers, count):
        return first, _OUTSIDE, 0
    while place < end:
        row = _number(chosen, place)
        contents = _OUTSIDE
        if 0 <= row < count:
            contents = _size_of_contents(keys, values, headers, row)
        if contents == _OUTSIDE:
            return place, to if place > first else _OUTSIDE, newest
        time = _number(times, row)
        if place == first:
            base = newest = time
        time_delta = wrapping_sum(time, -base)
        body = 1 + size_of_number(time_delta) + size_of_number(place - first) + contents
        if size_of_number(body) + body > len(slab) - to:
            return place, to if place > first else size_of_number(body) + body, newest
        to = put_number(slab, to, body)
        store_8(slab, to, 0)
        to = put_number(slab, to + 1, time_delta)
        to = put_number(slab, to, place - first)
        to = _put_bytes(slab, to, keys, row)
        to = _put_bytes(slab, to, values, row)
        to = _put_headers(slab, to, headers, row)
        newest = max(newest, time)
        place += 1
    return place, to, newest


@inlined
def _hash(source: Bytes, start: int, size: int) -> int:
    """Return the hash of `murmur2`."""
    digest = _SEED ^ size
    at, end = start, start + size
    while end - at >= 4:
        word = byte_at(source, at) | byte_at(source, at + 1) << 8
        word |= byte_at(source, at + 2) << 16 | byte_at(source, at + 3) << 24
        mixed = (word * _FACTOR) & _MASK
        mixed = ((mixed ^ mixed >> 24) * _FACTOR) & _MASK
        digest = (digest * _FACTOR) & _MASK ^ mixed
        at += 4
    if at < end:
        shift = 0
        while at < end:
            digest ^= byte_at(source, at) << shift
            shift += 8
            at += 1
        digest = (digest * _FACTOR) & _MASK
    digest = ((digest ^ digest >> 13) * _FACTOR) & _MASK
    return digest ^ digest >> 15


@kernel(INT, COLUMN, INT, SLAB)
def choose_partitions(keys: Column, partitions: int, found: Bytes) -> int:
    """Write the partition of each key; return the first row outside the columns, or the count."""
    count = len(found) // 8
    if not _has_rows(keys, count):
        return 0
    for row in range(count):
        start, size = _number(keys[0], row), _number(keys[1], row)
        if not _has(start, size, len(keys[2])):
            return row
        partition = ANY_PARTITION
        if size >= 0:
            partition = (_hash(keys[2], start, size) & _POSITIVE) % partitions
        store_64(found, 8 * row, partition)
    return count


class KernelEncoder:
    """An encoder with kernels; keeps its slab between batches."""

    __slots__ = ("_slab",)

    def __init__(self) -> None:
        self._slab: Bytes = np.empty(0, np.uint8)

    def partitions(self, keys: ByteColumn, count: int) -> Buffer:
        """Return the partition of each key; see `RecordEncoder`."""
        assert count > 0, "a topic has a partition"
        rows = len(keys.sizes)
        found: Bytes = np.empty(8 * rows, np.uint8)
        done = choose_partitions(_column(keys, rows), count, found)
        if done < rows:
            raise outside(done)
        return found.data

    def encode(
        self, columns: RecordColumns, rows: memoryview, *, most_bytes: int
    ) -> Iterator[EncodedRecords]:
        """Yield batches of rows; see `RecordEncoder`."""
        count = len(columns.timestamps)
        parts = _column(columns.keys, count), _column(columns.values, count), _headers(columns)
        times, chosen = read_only(columns.timestamps), read_only(rows)
        if len(self._slab) != most_bytes:
            self._slab = np.empty(most_bytes, np.uint8)
        slab, first = self._slab, 0
        while first < len(rows):
            place, end, newest = write_records(*parts, (times, chosen), first, slab)
            if place == first and end > most_bytes:
                slab, alone = np.empty(end, np.uint8), chosen[: 8 * (first + 1)]
                place, end, newest = write_records(*parts, (times, alone), first, slab)
            if place == first:
                raise outside(rows[first])
            base = columns.timestamps[rows[first]]
            yield EncodedRecords(slab[:end].tobytes(), place - first, base, newest)
            slab, first = self._slab, place


def _column(column: ByteColumn, rows: int) -> Column:
    """Return a column of N rows as kernels see it."""
    if not len(column.starts) == len(column.sizes) == rows:
        raise outside(rows)
    return read_only(column.starts), read_only(column.sizes), read_only(column.data)


def _headers(columns: RecordColumns) -> Headers:
    """Return the headers as kernels see them."""
    headers = columns.headers
    rows, names = len(columns.timestamps), len(headers.keys.sizes)
    if not len(headers.starts) == len(headers.counts) == rows:
        raise outside(rows)
    lists = read_only(headers.starts), read_only(headers.counts)
    return (*lists, *_column(headers.keys, names), *_column(headers.values, names))

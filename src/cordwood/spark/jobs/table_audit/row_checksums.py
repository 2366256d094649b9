"""Checksums of rows, for a deep audit: contents of ranges of offsets.

    row     64 bits from its offset and its columns; null and empty differ
    range   2^RANGE_BITS offsets from a multiple of that on: the sum of its rows, modulo 2^64

Each byte of a value counts with a random factor of its place, and the factors come from a seed that
the driver draws for each audit. So a table cannot be altered to have the sums of its log. All is
computed in arrays; a value is read in parts of `PART_BYTES`, so that memory does not depend on it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cordwood.spark.jobs.tables.offset_spans import Offsets, OffsetSpans

#: Offsets of a range, as a power of two.
RANGE_BITS: Final = 10
#: Bytes that are read at a time.
PART_BYTES: Final = 1 << 18
#: Columns that can be compared.
COMPARED_COLUMNS: Final = ("key", "value", "headers", "timestamp", "date", "hour")

Sums = NDArray[np.uint64]

_FACTORS: Final = 1 << 16
_GOLDEN: Final = 0x9E3779B97F4A7C15
_NULL: Final = np.uint64(0x6A09E667F3BCC909)
_HEADER: Final = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])


class RangeSums(NamedTuple):
    """Numbers of ranges in order, and the rows and the sum of each."""

    ranges: Offsets
    rows: NDArray[np.int64]
    sums: Sums


NO_SUMS: Final = RangeSums(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint64))


class RowHasher:
    """The hash of rows with the factors of one seed."""

    __slots__ = ("_far", "_near")

    def __init__(self, seed: int) -> None:
        places = np.arange(2 * _FACTORS, dtype=np.uint64) + np.uint64(seed & 0xFFFFFFFFFFFF)
        factors = mix(places)
        self._near = factors[:_FACTORS]
        self._far = factors[_FACTORS:] | np.uint64(1)

    def rows(self, offsets: Offsets, columns: Mapping[str, pa.Array]) -> Sums:
        """Return the hash of each row."""
        found = mix(offsets.astype(np.uint64))
        for number, name in enumerate(COMPARED_COLUMNS, 1):
            if name in columns:
                column: Sums = _HASHES[name](self, columns[name])
                found = mix(found * np.uint64(_GOLDEN) + column + np.uint64(number))
        return found

    def bytes_of(self, array: pa.Array) -> Sums:
        """Return the hash of each value of a binary column."""
        if not len(array):
            return np.empty(0, np.uint64)
        array = array.cast(pa.large_binary())
        bounds = np.frombuffer(array.buffers()[1], np.int64)[: array.offset + len(array) + 1]
        bounds = bounds[array.offset :]
        data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
        sums = mix(self._sums(data, bounds) + np.diff(bounds).astype(np.uint64))
        return self._without_nulls(array, sums)

    def numbers_of(self, array: pa.Array) -> Sums:
        """Return the hash of each timestamp."""
        array = array.cast(pa.timestamp("us", tz="UTC")).view(pa.int64())
        values = np.frombuffer(array.buffers()[1], np.uint64)[array.offset :][: len(array)]
        return self._without_nulls(array, mix(values))

    def integers_of(self, array: pa.Array) -> Sums:
        """Return the hash of each date, as a number of days, or of each hour."""
        array = array.cast(pa.int32()).cast(pa.int64())
        values = np.frombuffer(array.buffers()[1], np.uint64)[array.offset :][: len(array)]
        return self._without_nulls(array, mix(values))

    def headers_of(self, array: pa.Array) -> Sums:
        """Return the hash of each list of headers; an empty list is the same as null."""
        array = array.cast(pa.large_list(_HEADER))
        bounds = np.frombuffer(array.buffers()[1], np.int64)[: array.offset + len(array) + 1]
        bounds = bounds[array.offset :]
        first, last = int(bounds[0]), int(bounds[-1])
        pairs = array.values.slice(first, last - first)
        keys, values = (self.bytes_of(pairs.field(name)) for name in ("key", "value"))
        found = mix(keys * np.uint64(_GOLDEN) + values)
        counts = np.diff(bounds)
        places = np.arange(len(found)) - np.repeat(bounds[:-1] - first, counts)
        sums = _sums_between(found * self._factors(places), bounds - first)
        sums = mix(sums + counts.astype(np.uint64))
        return np.where(counts == 0, _NULL, self._without_nulls(array, sums))

    def _sums(self, data: NDArray[np.uint8], bounds: Offsets) -> Sums:
        """Return the sum of the bytes of each value, each times the factor of its place."""
        sums = np.zeros(len(bounds) - 1, np.uint64)
        end = int(bounds[-1])
        for first in range(int(bounds[0]), end, PART_BYTES):
            last = min(first + PART_BYTES, end)
            low = max(int(np.searchsorted(bounds, first, side="right")) - 1, 0)
            high = int(np.searchsorted(bounds, last, side="left"))
            cuts = np.clip(bounds[low : high + 1], first, last)
            places = np.arange(first, last) - np.repeat(bounds[low:high], np.diff(cuts))
            values = data[first:last].astype(np.uint64) + np.uint64(1)
            sums[low:high] += _sums_between(values * self._factors(places), cuts - first)
        return sums

    def _factors(self, places: Offsets) -> Sums:
        near: Sums = self._near[places & (_FACTORS - 1)]
        far: Sums = self._far[(places >> 16) & (_FACTORS - 1)]
        return near * far

    def _without_nulls(self, array: pa.Array, sums: Sums) -> Sums:
        if not array.null_count:
            return sums
        validity = array.is_null().cast(pa.int8())
        is_null = np.frombuffer(validity.buffers()[1], np.int8)[validity.offset :][: len(array)]
        return np.where(is_null.astype(np.bool_), _NULL, sums)


_HASHES: Final[Mapping[str, Callable[[RowHasher, pa.Array], Sums]]] = {
    "key": RowHasher.bytes_of,
    "value": RowHasher.bytes_of,
    "headers": RowHasher.headers_of,
    "timestamp": RowHasher.numbers_of,
    "date": RowHasher.integers_of,
    "hour": RowHasher.integers_of,
}


def mix(numbers: Sums) -> Sums:
    """Return numbers of which each bit depends on each bit of the given ones (splitmix64)."""
    numbers = numbers + np.uint64(_GOLDEN)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def sum_ranges(offsets: Offsets, hashes: Sums, *, spans: OffsetSpans) -> RangeSums:
    """Return the sums of the rows whose offsets are in spans."""
    is_wanted = spans.count_at(offsets) > 0
    ranges = offsets[is_wanted] >> RANGE_BITS
    return merge_sums([RangeSums(ranges, np.ones(len(ranges), np.int64), hashes[is_wanted])])


def merge_sums(parts: Sequence[RangeSums]) -> RangeSums:
    """Return the sums of all parts, one for each range."""
    ranges, rows, sums = (np.concatenate(each) for each in zip(NO_SUMS, *parts, strict=True))
    if not len(ranges):
        return NO_SUMS
    if np.any(np.diff(ranges) < 0):
        order = np.argsort(ranges, kind="stable")
        ranges, rows, sums = ranges[order], rows[order], sums[order]
    firsts = np.flatnonzero(np.concatenate(([True], ranges[1:] != ranges[:-1])))
    return RangeSums(ranges[firsts], np.add.reduceat(rows, firsts), np.add.reduceat(sums, firsts))


def pack_sums(sums: RangeSums) -> bytes:
    """Return sums as bytes, to send them from a task; `unpack_sums` is the inverse."""
    return b"".join(each.tobytes() for each in sums)


def unpack_sums(data: bytes) -> RangeSums:
    """Return packed sums."""
    words = np.frombuffer(data, np.int64)
    third = len(words) // 3
    return RangeSums(words[:third], words[third : 2 * third], words[2 * third :].view(np.uint64))


def _sums_between(numbers: Sums, bounds: Offsets) -> Sums:
    """Return the sums of the numbers between each two bounds, modulo 2^64."""
    before = np.concatenate((np.zeros(1, np.uint64), np.cumsum(numbers, dtype=np.uint64)))
    return before[bounds[1:]] - before[bounds[:-1]]

"""Checksums of rows."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

from cordwood.spark.jobs.table_audit import row_checksums
from cordwood.spark.jobs.table_audit.row_checksums import (
    RangeSums,
    RowHasher,
    merge_sums,
    pack_sums,
    sum_ranges,
    unpack_sums,
)
from cordwood.spark.jobs.tables.offset_spans import OffsetSpans

HASHER = RowHasher(7)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
ROW = {"key": b"k", "value": b"v" * 100, "headers": [("a", b"1"), ("b", None)], "timestamp": 5}
TYPES = {
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": HEADERS,
    "timestamp": pa.timestamp("us", tz="UTC"),
}


def _columns(*rows: Mapping[str, object]) -> dict[str, pa.Array]:
    return {name: pa.array([row[name] for row in rows], kind) for name, kind in TYPES.items()}


def _hash(*rows: Mapping[str, object]) -> list[int]:
    hashes: list[int] = HASHER.rows(np.arange(len(rows)), _columns(*rows)).tolist()
    return hashes


@pytest.mark.parametrize(
    "change",
    (
        {"key": b"K"},
        {"key": None},
        {"key": b""},
        {"key": b"k\0"},
        {"value": b"v" * 99},
        {"value": b"v" * 50 + b"w" + b"v" * 49},
        {"value": None},
        {"timestamp": 6},
        {"headers": None},
        {"headers": [("b", None), ("a", b"1")]},
        {"headers": [("a", b"1"), ("b", b"")]},
        {"headers": [("a", b"1b"), ("", None)]},
    ),
)
def test_hash_differs_with_each_column(change: Mapping[str, object]) -> None:
    assert _hash(ROW) != _hash({**ROW, **change})


def test_hash_differs_with_the_offset() -> None:
    assert len(set(_hash(ROW, ROW, ROW))) == 3


@pytest.mark.parametrize("empty", ([], None))
def test_empty_headers_are_the_same_as_none(empty: object) -> None:
    assert _hash({**ROW, "headers": empty}) == _hash({**ROW, "headers": []})


def test_hash_does_not_depend_on_the_parts_of_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**ROW, "value": b"%d" % number * number} for number in range(40)]
    whole = _hash(*rows)

    monkeypatch.setattr(row_checksums, "PART_BYTES", 7)

    assert _hash(*rows) == whole


def test_hash_does_not_depend_on_the_slice_of_a_column() -> None:
    rows = [{**ROW, "key": b"%d" % number} for number in range(5)]
    columns = {name: column[2:4] for name, column in _columns(*rows).items()}

    assert HASHER.rows(np.arange(2, 4), columns).tolist() == _hash(*rows)[2:4]


def test_hash_of_long_values_depends_on_the_place_of_a_byte() -> None:
    ones = [b"\0" * at + b"\1" + b"\0" * (200_000 - at) for at in (5, 5 + (1 << 16), 199_000)]

    assert len(set(_hash(*({**ROW, "value": value} for value in ones)))) == 3


def test_hash_differs_with_the_seed() -> None:
    columns = _columns(ROW)

    assert HASHER.rows(np.arange(1), columns) != RowHasher(8).rows(np.arange(1), columns)


def test_sums_are_of_ranges_in_any_order() -> None:
    offsets = np.array([2047, 5, 1024, 6])
    hashes = np.array([1, 2, 3, 1 << 63], np.uint64)

    found = sum_ranges(offsets, hashes, spans=OffsetSpans.of([(0, 6), (1000, 3000)]))

    assert [each.tolist() for each in found] == [[0, 1], [1, 2], [2, 4]]


def test_sums_of_parts_wrap() -> None:
    most = RangeSums(np.array([3]), np.array([1]), np.array([(1 << 64) - 1], np.uint64))

    found = merge_sums([unpack_sums(pack_sums(most)), most])

    assert [each.tolist() for each in found] == [[3], [2], [(1 << 64) - 2]]

"""Comparison of the contents of rows and records."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import TableError
from cordwood.spark.jobs.table_audit.deep_comparison import (
    DeepComparison,
    DeepRequest,
    compare_sums,
    sum_log_rows,
    sum_table_rows,
)
from cordwood.spark.jobs.table_audit.row_checksums import COMPARED_COLUMNS
from cordwood.spark.jobs.tables.offset_spans import OffsetSpans, pack_spans
from cordwood.spark.jobs.tables.parquet_files import TIME_COLUMNS
from cordwood.spark.jobs.tables.table_pieces import AuditColumns, ParquetPiece
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_reader import read_split
from tests.unit.spark.jobs.export_samples import ORDERS, split, write_log
from tests.unit.storage.segment_samples import v2

pytestmark = pytest.mark.spark

OPTIONS = SourceOptions(is_committed=True)
CONTENTS = tuple(name for name in COMPARED_COLUMNS if name not in TIME_COLUMNS)
COLUMNS = (*CONTENTS, "topic", "partition", "offset")


def _ignore(_size: int) -> None:
    pass


def _compare(
    tmp_path: Path, change: Mapping[str, object], *, spans: OffsetSpans | None = None
) -> DeepComparison:
    """Compare a log of 3,000 records with a table of them, in which offset 1500 was changed."""
    logs = write_log(tmp_path, v2(0, 1999), v2(2000, 2999))
    part = split(logs, 0, 3000)
    table = pa.Table.from_batches(read_split(part, COLUMNS, options=OPTIONS))
    rows = table.to_pylist()
    rows[1500] |= change
    pq.write_table(pa.Table.from_pylist(rows, table.schema), tmp_path / "a.parquet")
    proven = spans or OffsetSpans.of([(0, 3000)])
    request = DeepRequest(CONTENTS, {ORDERS: pack_spans(proven)}, seed=3)
    piece = ParquetPiece(str(tmp_path / "a.parquet"), 1, {})
    ours = sum_table_rows([piece], _ignore, request=request, columns=AuditColumns())
    theirs = sum_log_rows([part], _ignore, request=request, options=OPTIONS)
    return compare_sums([ours[ORDERS]], [theirs[ORDERS]], offsets=proven)


def test_equal_rows_have_no_findings(tmp_path: Path) -> None:
    found = _compare(tmp_path, {})

    assert (found.rows, found.skipped, len(found.findings)) == (3000, 0, 0)


@pytest.mark.parametrize("column", ("key", "value"))
def test_range_with_a_changed_row_is_found(tmp_path: Path, column: str) -> None:
    found = _compare(tmp_path, {column: b"X"})

    assert [each[1:] for each in found.findings] == [(1024, 2048)]


@pytest.mark.parametrize(
    ("date", "hour", "ranges"),
    (
        ("1970-01-01", "0", 0),
        ("1970-01-02", "0", 3),
        ("1970-01-01", "1", 3),
    ),
)
def test_partition_columns_in_the_path_are_compared_with_the_timestamp(
    tmp_path: Path, date: str, hour: str, ranges: int
) -> None:
    logs = write_log(tmp_path, v2(0, 1999), v2(2000, 2999))
    part = split(logs, 0, 3000)
    names = ("value", "topic", "partition", "offset")
    table = pa.Table.from_batches(read_split(part, names, options=OPTIONS))
    pq.write_table(table, tmp_path / "a.parquet")
    proven = OffsetSpans.of([(0, 3000)])
    request = DeepRequest(("value", "date", "hour"), {ORDERS: pack_spans(proven)}, seed=3)
    piece = ParquetPiece(str(tmp_path / "a.parquet"), 1, {"date": date, "hour": hour})

    ours = sum_table_rows([piece], _ignore, request=request, columns=AuditColumns())
    theirs = sum_log_rows([part], _ignore, request=request, options=OPTIONS)
    found = compare_sums([ours[ORDERS]], [theirs[ORDERS]], offsets=proven)

    assert found.rows == 3000
    assert sum(-(-(end - start) // 1024) for _, start, end in found.findings) == ranges


def test_rows_outside_of_the_offsets_are_not_compared(tmp_path: Path) -> None:
    found = _compare(tmp_path, {"value": b"X"}, spans=OffsetSpans.of([(0, 1500), (1501, 2999)]))

    assert (found.rows, len(found.findings)) == (2998, 0)


def test_rows_that_were_removed_since_are_counted(tmp_path: Path) -> None:
    found = _compare(tmp_path, {"offset": 4000})

    assert (found.rows, found.skipped, len(found.findings)) == (3000 - 1024, 1024, 0)


def test_missing_column_is_named(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"topic": ["orders"], "partition": [0], "offset": [1]}), tmp_path / "a.parquet"
    )
    request = DeepRequest(("value",), {ORDERS: pack_spans(OffsetSpans.of([(0, 9)]))}, seed=3)

    with pytest.raises(TableError, match="column value does not exist"):
        sum_table_rows(
            [ParquetPiece(str(tmp_path / "a.parquet"), 1, {})],
            _ignore,
            request=request,
            columns=AuditColumns(),
        )

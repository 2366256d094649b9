"""Parquet files of export tasks."""

import errno
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cordwood.core.errors import InvalidRecordError
from cordwood.spark.jobs.tables import parquet_files
from cordwood.spark.jobs.tables.parquet_files import (
    ParquetWriteOptions,
    ParquetWriteResult,
    ValueRange,
    table_schema,
    write_splits,
)
from cordwood.spark.source.coverage import OffsetRange
from tests.unit.spark.jobs.export_samples import ORDERS, split, write_log, write_options
from tests.unit.storage.segment_samples import marker, produced, times, v2

HOUR = 3_600_000


def _write(
    tmp_path: Path, end: int, *, how: ParquetWriteOptions | None = None
) -> ParquetWriteResult:
    options = how or write_options(str(tmp_path / "out"))
    return write_splits([split(tmp_path, 0, end)], lambda _: None, options=options, name="a")


def _offsets(path: Path) -> list[int]:
    found: list[int] = pq.ParquetFile(path).read(columns=["offset"]).column(0).to_pylist()
    return found


def test_file_has_the_rows_of_its_splits(tmp_path: Path) -> None:
    write_log(tmp_path, v2(0, 2), v2(3, 4))

    (file,) = _write(tmp_path, 5).files

    assert file.path == "a-0.parquet"
    assert _offsets(tmp_path / "out" / file.path) == [0, 1, 2, 3, 4]
    assert (file.rows, file.value_ranges) == (
        5,
        (ValueRange("partition", 0, 0), ValueRange("offset", 0, 4)),
    )
    assert file.size == (tmp_path / "out" / file.path).stat().st_size


def test_aborted_records_are_not_written(tmp_path: Path) -> None:
    write_log(tmp_path, produced(0, 2, producer_id=1), marker(3, producer_id=1, is_commit=False))

    assert _write(tmp_path, 4) == ParquetWriteResult((), ((OffsetRange(ORDERS, 0, 4), 0),))


def test_partition_columns_are_not_in_the_file(tmp_path: Path) -> None:
    write_log(tmp_path, v2(0, 2))

    (file,) = _write(
        tmp_path, 3, how=write_options(str(tmp_path / "out"), by=("topic", "partition"))
    ).files

    assert file.path == "topic=orders/partition=0/a-0.parquet"
    assert pq.read_schema(tmp_path / "out" / file.path).names == [
        *("key", "value", "offset", "timestamp", "timestampType"),
    ]


def test_full_disk_is_reported_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow raises the error number without the path."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "Error writing bytes to file")

    write_log(tmp_path, v2(0, 2))
    monkeypatch.setattr(pq.ParquetWriter, "write_table", refuse)

    with pytest.raises(OSError, match=r"No space left on device: '.*/out/a-0.parquet'"):
        _write(tmp_path, 3)


def test_timestamp_out_of_range_is_named(tmp_path: Path) -> None:
    write_log(tmp_path, times(0, 253_402_300_800_000))

    assert _write(tmp_path, 1).records
    with pytest.raises(
        InvalidRecordError, match="timestamp 253402300800000000 us, which is out of the range"
    ):
        _write(tmp_path, 1, how=write_options(str(tmp_path / "other"), by=("hour",)))


def test_rows_of_each_hour_have_a_file(tmp_path: Path) -> None:
    write_log(tmp_path, times(0, 0, HOUR, 1), times(3, 25 * HOUR, HOUR))

    files = _write(tmp_path, 5, how=write_options(str(tmp_path / "out"), by=("date", "hour"))).files

    assert [(file.partition_values, _offsets(tmp_path / "out" / file.path)) for file in files] == [
        (("1970-01-01", "0"), [0, 2]),
        (("1970-01-01", "1"), [1, 4]),
        (("1970-01-02", "1"), [3]),
    ]


def test_files_can_contain_the_partition_columns(tmp_path: Path) -> None:
    write_log(tmp_path, times(0, 0, 25 * HOUR))
    how = write_options(str(tmp_path / "out"), has_partition_columns=True, by=("date",))

    second = _write(tmp_path, 2, how=how).files[1]

    found = pq.ParquetFile(tmp_path / "out" / second.path).read()
    assert found.schema.equals(table_schema(how.all_columns))
    assert [str(day) for day in found.column("date").to_pylist()] == ["1970-01-02"]


def test_rows_are_partitioned_by_time_without_a_column_timestamp(tmp_path: Path) -> None:
    write_log(tmp_path, times(0, 0, 25 * HOUR))
    how = replace(write_options(str(tmp_path / "out"), by=("date",)), columns=("offset",))

    files = _write(tmp_path, 2, how=how).files

    assert [file.partition_values for file in files] == [("1970-01-01",), ("1970-01-02",)]
    assert pq.read_schema(tmp_path / "out" / files[0].path).names == ["offset"]


def test_full_file_is_followed_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_files, "MAX_BUFFERED_BYTES", 1)
    write_log(tmp_path, v2(0, 2), v2(3, 4))
    how = replace(write_options(str(tmp_path / "out")), file_bytes=1)

    files = write_splits(
        [split(tmp_path, 0, 3), split(tmp_path, 3, 5)], lambda _: None, options=how, name="a"
    ).files

    assert [file.rows for file in files] == [3, 2]


def test_files_are_closed_when_many_are_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "MAX_OPEN_FILES", 1)
    write_log(tmp_path, times(0, 0, 25 * HOUR, 0), times(3, 0))
    how = write_options(str(tmp_path / "out"), by=("date",))
    parts = [split(tmp_path, 0, 3), split(tmp_path, 3, 4)]

    files = write_splits(parts, lambda _: None, options=how, name="a").files

    assert [(file.partition_values[0], file.rows) for file in files] == [
        ("1970-01-01", 2),
        ("1970-01-02", 1),
        ("1970-01-01", 1),
    ]


def test_bytes_are_reported_per_split(tmp_path: Path) -> None:
    write_log(tmp_path, v2(0, 2))
    reported: list[int] = []

    write_splits(
        [split(tmp_path, 0, 3)] * 2, reported.append, options=write_options(str(tmp_path)), name="a"
    )

    assert reported == [100, 100]


def test_schema_of_a_table_ends_with_the_derived_columns() -> None:
    assert table_schema(("offset", "hour")) == pa.schema(
        [pa.field("offset", pa.int64()), pa.field("hour", pa.int32())]
    )


def test_rows_in_no_order_of_time_keep_the_order_of_their_offsets_in_each_hour(
    tmp_path: Path,
) -> None:
    write_log(tmp_path, times(0, HOUR, 0, HOUR + 1, 5, 1))

    files = _write(tmp_path, 5, how=write_options(str(tmp_path / "out"), by=("hour",))).files

    found = {file.partition_values: _offsets(tmp_path / "out" / file.path) for file in files}
    assert found == {("0",): [1, 3, 4], ("1",): [0, 2]}

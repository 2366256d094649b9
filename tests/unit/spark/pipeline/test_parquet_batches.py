"""Micro-batches in a folder of Parquet files."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow.parquet as pq

from cordwood.core.errors import TableError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.pipeline.parquet_batches import ParquetBatches
from tests.unit.spark.pipeline.batches import QUERY, SCHEMA, append

pytestmark = pytest.mark.spark


def table_in(folder: Path) -> ParquetBatches:
    """Return the table in a folder."""
    return ParquetBatches(TableAddress(path=str(folder)), QUERY, SystemFiles())


def rows(folder: Path) -> list[tuple[str, int]]:
    """Return the rows that a reader sees."""
    found = pq.read_table(folder).to_pylist()
    return sorted((row["key"], row["value"]) for row in found)


def test_moves_of_a_killed_driver_are_finished(tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    append(table_in(folder), 0, [("a", 1)])
    (moved,) = folder.glob("*.parquet")
    staged = folder / "_cordwood" / "staged" / QUERY
    moved.rename(staged / moved.name)
    (staged / "lost.parquet").write_bytes(b"")

    table_in(folder).recover()
    assert rows(folder) == [("a", 1)]

    table_in(folder).folder(SCHEMA)

    assert not [*staged.iterdir()]


def test_folder_with_other_files_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "other.parquet").write_bytes(b"")

    with pytest.raises(TableError, match="already exists"):
        table_in(tmp_path).folder(SCHEMA)

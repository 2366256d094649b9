"""The contract of tables that take each micro-batch once, for each format."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("deltalake", reason="the extra spark is not installed")
pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from cordwood.core.errors import TableError
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.iceberg_table import open_catalog
from cordwood.spark.pipeline.batch_table import BatchCommit, BatchKey, BatchTable
from cordwood.spark.pipeline.pipeline_definition import TableSink
from cordwood.spark.pipeline.table_writer import open_batch_table
from tests.unit.spark.pipeline.batches import QUERY, SCHEMA, append

pytestmark = pytest.mark.spark

NAME: Final = "shop.orders"


def read_iceberg(folder: Path) -> pa.Table:
    """Return the rows of the Iceberg table in a warehouse."""
    address = TableAddress(path=str(folder), format="iceberg", name=NAME)
    return open_catalog(address).load_table(NAME).scan().to_arrow()


READERS: Final[dict[str, Callable[[Path], pa.Table]]] = {
    "delta": lambda folder: DeltaTable(folder).to_pyarrow_table(),
    "iceberg": read_iceberg,
    "parquet": pq.read_table,
}


@pytest.fixture(params=READERS, name="kind")
def fixture_kind(request: pytest.FixtureRequest) -> str:
    """Return a format."""
    return str(request.param)


def last_of(table: BatchTable) -> int | None:
    """Return the number of the newest batch."""
    last = table.last_batch(QUERY)
    return None if last is None else last.batch


def table_in(folder: Path, kind: str) -> BatchTable:
    """Return the table in a folder, whether or not it exists."""
    name = NAME if kind == "iceberg" else None
    return open_batch_table(TableSink(format=kind, to=str(folder), table=name), QUERY)


def test_batch_that_comes_again_is_not_added_again(tmp_path: Path, kind: str) -> None:
    table = table_in(tmp_path / "orders", kind)
    assert table.last_batch(QUERY) is None

    for batch, key in ((0, "a"), (1, "b"), (1, "b"), (0, "a")):
        append(table, batch, [(key, batch)])

    assert last_of(table) == 1
    rows = READERS[kind](tmp_path / "orders").to_pylist()
    assert sorted((row["key"], row["value"]) for row in rows) == [("a", 0), ("b", 1)]


def test_newest_batch_has_the_offsets_after_it(tmp_path: Path, kind: str) -> None:
    table = table_in(tmp_path / "orders", kind)

    append(table, 0, [("a", 0)], facts={"cordwood.offsets": "{}"})

    assert table.last_batch(QUERY) == BatchCommit(0, "{}")


def test_batch_without_rows_is_in_the_table(tmp_path: Path, kind: str) -> None:
    table = table_in(tmp_path / "orders", kind)
    append(table, 0, [("a", 0)])

    table.folder(SCHEMA)
    table.append([], key=BatchKey(QUERY, 1), facts={})

    assert last_of(table) == 1
    assert READERS[kind](tmp_path / "orders").num_rows == 1


def test_table_with_other_columns_is_rejected(tmp_path: Path, kind: str) -> None:
    append(table_in(tmp_path / "orders", kind), 0, [("a", 1)])
    wider = pa.schema([*SCHEMA, ("more", pa.int32())])

    with pytest.raises(TableError, match="has the columns key"):
        table_in(tmp_path / "orders", kind).folder(wider)

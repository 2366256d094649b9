"""Micro-batches in an Iceberg table."""

from pathlib import Path

import pytest

pytest.importorskip("pyiceberg", reason="the extra spark is not installed")
pytest.importorskip("pyspark", reason="the extra spark is not installed")


from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.iceberg_table import open_catalog
from cordwood.spark.pipeline.iceberg_batches import IcebergBatches
from tests.unit.spark.pipeline.batches import QUERY, append, upsert

pytestmark = pytest.mark.spark

NAME = "shop.orders"


@pytest.fixture(name="address")
def fixture_address(tmp_path: Path) -> TableAddress:
    """Return the address of a table that does not exist yet."""
    return TableAddress(path=str(tmp_path), format="iceberg", name=NAME)


@pytest.fixture(name="table")
def fixture_table(address: TableAddress) -> IcebergBatches:
    """Return the table at the address."""
    return IcebergBatches(address)


def rows(address: TableAddress) -> list[tuple[str, int]]:
    """Return the rows that a reader sees."""
    found = open_catalog(address).load_table(NAME).scan().to_arrow().to_pylist()
    return sorted((row["key"], row["value"]) for row in found)


def test_snapshot_keeps_the_facts_of_its_batch(
    table: IcebergBatches, address: TableAddress
) -> None:
    append(table, 0, [("a", 1)], facts={"cordwood.offsets": "{}"})

    snapshot = open_catalog(address).load_table(NAME).current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert snapshot.summary["cordwood.offsets"] == "{}"


def test_batch_of_a_table_that_was_rolled_back_is_added_again(
    table: IcebergBatches, address: TableAddress
) -> None:
    append(table, 0, [("a", 1)])
    before = open_catalog(address).load_table(NAME).current_snapshot()
    append(table, 1, [("b", 2)])
    assert before is not None
    with open_catalog(address).load_table(NAME).manage_snapshots() as manage:
        manage.rollback_to_snapshot(before.snapshot_id)

    append(table, 1, [("b", 2)])

    assert rows(address) == [("a", 1), ("b", 2)]


def test_upsert_replaces_adds_and_deletes(table: IcebergBatches, address: TableAddress) -> None:
    upsert(table, 0, [("a", 1), ("b", 1)])

    upsert(table, 1, [("a", 2), ("c", 2)], deleted=["b", "absent"])
    upsert(table, 1, [("a", 3)])

    assert rows(address) == [("a", 2), ("c", 2)]
    assert table.last_batch(QUERY) == (1, None)

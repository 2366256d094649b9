"""Micro-batches in an Iceberg table."""

from pathlib import Path

import pytest

pytest.importorskip("pyiceberg", reason="the extra spark is not installed")
pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyiceberg.table import Table

from cordwood.core.errors import TableError
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.iceberg_table import open_catalog
from cordwood.spark.pipeline.batch_table import BatchCommit
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


def loaded(address: TableAddress) -> Table:
    """Return the table as another program loads it."""
    return open_catalog(address).load_table(NAME)


def expire_others(address: TableAddress) -> None:
    """Commit twice as another program, then expire all other snapshots."""
    for _ in range(2):
        loaded(address).append(loaded(address).scan(limit=1).to_arrow())
    current = loaded(address).current_snapshot()
    for each in loaded(address).snapshots():
        if current is not None and each.snapshot_id != current.snapshot_id:
            loaded(address).maintenance.expire_snapshots().by_id(each.snapshot_id).commit()


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
    assert table.last_batch(QUERY) == BatchCommit(1)


def test_offsets_of_the_newest_batch_stay_when_its_snapshot_has_expired(
    table: IcebergBatches, address: TableAddress
) -> None:
    append(table, 0, [("a", 1)], facts={"cordwood.offsets": "{}"})

    expire_others(address)

    assert table.last_batch(QUERY) == BatchCommit(0, "{}", is_proven=False)
    with pytest.raises(TableError, match="cannot determine whether it has batch 0"):
        append(table, 0, [("a", 1)])


def test_batch_is_not_repeated_if_a_rollback_and_an_expiry_hide_whether_it_is_there(
    table: IcebergBatches, address: TableAddress
) -> None:
    append(table, 0, [("a", 1)])
    before = loaded(address).current_snapshot()
    append(table, 1, [("b", 2)])
    assert before is not None
    with loaded(address).manage_snapshots() as manage:
        manage.rollback_to_snapshot(before.snapshot_id)
    expire_others(address)

    with pytest.raises(TableError, match="cannot determine whether it has batch 1"):
        append(table, 1, [("b", 2)])

    append(table, 2, [("c", 3)])
    assert table.last_batch(QUERY) == BatchCommit(2)


def test_snapshot_of_the_deletes_of_an_upsert_names_no_batch(
    table: IcebergBatches, address: TableAddress
) -> None:
    upsert(table, 0, [("a", 1)])
    upsert(table, 1, [("a", 2)])
    current = loaded(address).current_snapshot()
    assert current is not None
    assert current.parent_snapshot_id is not None
    loaded(address).manage_snapshots().set_current_snapshot(current.parent_snapshot_id).commit()
    assert table.last_batch(QUERY) == BatchCommit(0)

    upsert(table, 1, [("a", 2)])

    assert rows(address) == [("a", 2)]


def test_upsert_of_other_keys_is_an_append(table: IcebergBatches, address: TableAddress) -> None:
    upsert(table, 0, [("a", 1)])

    upsert(table, 1, [("b", 2)], deleted=["absent"])

    assert rows(address) == [("a", 1), ("b", 2)]

"""Micro-batches in a Delta Lake table."""

from pathlib import Path

import pytest

pytest.importorskip("deltalake", reason="the extra spark is not installed")
pytest.importorskip("pyspark", reason="the extra spark is not installed")

from deltalake import DeltaTable, write_deltalake

from cordwood.core.errors import TableError
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.pipeline.batch_table import BatchCommit
from cordwood.spark.pipeline.delta_batches import DeltaBatches
from tests.unit.spark.pipeline.batches import QUERY, SCHEMA, append, rows_of, upsert

pytestmark = pytest.mark.spark


@pytest.fixture(name="table")
def fixture_table(tmp_path: Path) -> DeltaBatches:
    """Return a table that does not exist yet."""
    return DeltaBatches(TableAddress(path=str(tmp_path / "orders"), format="delta"))


def rows(table: DeltaBatches) -> list[tuple[str, int]]:
    """Return the rows that a reader sees."""
    found = DeltaTable(table.name).to_pyarrow_table().to_pylist()
    return sorted((row["key"], row["value"]) for row in found)


def test_commit_keeps_the_facts_of_its_batch(table: DeltaBatches) -> None:
    append(table, 0, [("a", 1)], facts={"cordwood.offsets": "{}"})

    assert DeltaTable(table.name).history(1)[0]["cordwood.offsets"] == "{}"


def test_batch_is_committed_after_the_commit_of_another_program(table: DeltaBatches) -> None:
    append(table, 0, [("a", 1)])
    write_deltalake(table.name, rows_of([("other", 9)]), mode="append")

    append(table, 1, [("b", 2)])

    assert rows(table) == [("a", 1), ("b", 2), ("other", 9)]


def test_batch_that_a_restore_has_taken_back_is_added_again(table: DeltaBatches) -> None:
    append(table, 0, [("a", 1)])
    version = DeltaTable(table.name).version()
    append(table, 1, [("b", 2)])
    DeltaTable(table.name).restore(version)
    assert table.last_batch(QUERY) == BatchCommit(0)

    append(table, 1, [("b", 2)])

    assert rows(table) == [("a", 1), ("b", 2)]


def test_restore_before_the_first_batch_leaves_none(table: DeltaBatches) -> None:
    table.folder(SCHEMA)
    append(table, 0, [("a", 1)])

    DeltaTable(table.name).restore(0)

    assert table.last_batch(QUERY) is None


def test_batch_is_not_repeated_if_a_restore_and_a_cleaned_log_hide_whether_it_is_there(
    table: DeltaBatches,
) -> None:
    append(table, 0, [("a", 1)])
    write_deltalake(table.name, rows_of([("other", 9)]), mode="append")
    DeltaTable(table.name).restore(DeltaTable(table.name).version() - 1)
    DeltaTable(table.name).create_checkpoint()
    for path in sorted(Path(table.name, "_delta_log").glob("*.json"))[:-1]:
        path.unlink()

    with pytest.raises(TableError, match="cannot determine whether it has batch 0"):
        append(table, 0, [("a", 1)])

    append(table, 1, [("b", 2)])
    assert rows(table) == [("a", 1), ("b", 2)]


def test_partitioned_table_is_rejected(table: DeltaBatches) -> None:
    write_deltalake(table.name, rows_of([("a", 1)]), partition_by=["key"])

    with pytest.raises(TableError, match="is partitioned"):
        table.folder(SCHEMA)


def test_upsert_replaces_adds_and_deletes(table: DeltaBatches) -> None:
    upsert(table, 0, [("a", 1), ("b", 1)])

    upsert(table, 1, [("a", 2), ("c", 2)], deleted=["b", "absent"])
    upsert(table, 1, [("a", 3)])

    assert rows(table) == [("a", 2), ("c", 2)]

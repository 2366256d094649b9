"""Delta Lake tables of exports, read back with deltalake."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("deltalake", reason="the extra spark is not installed")

import pyarrow as pa
from deltalake import DeltaTable, TableFeatures, write_deltalake

from cordwood.core.errors import TableError
from cordwood.core.system import SystemFiles
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.tables.delta_table import DeltaLakeTable
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.table_ledger import ExportedOffsets
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory
from cordwood.spark.source.splits import Split
from tests.unit.spark.jobs.export_samples import ORDERS, add, layout, split, write_log, written
from tests.unit.storage.segment_samples import v2

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> DeltaLakeTable:
    return DeltaLakeTable(TableAddress(path=str(tmp_path / "lake")), SystemFiles())


def _offsets(table: DeltaLakeTable) -> list[int]:
    found = DeltaTable(table.name).to_pyarrow_table(columns=["offset"])
    return sorted(found.column("offset").to_pylist())


def test_missing_table_has_no_state(table: DeltaLakeTable) -> None:
    assert table.state() is None


def test_commits_are_versions_of_the_table(table: DeltaLakeTable, logs: Path) -> None:
    add(table, logs, (0, 5))
    after = add(table, logs, (5, 10))

    assert _offsets(table) == list(range(10))
    assert table.state() == after
    assert after.exported == {ORDERS: ExportedOffsets(0, 10, 10)}
    assert DeltaTable(table.name).history(1)[0]["cordwood.ranges"] == '{"orders-0":[5,10,5,0]}'
    assert DeltaTable(table.name).transaction_version("cordwood/orders-0") == 10


def test_partitions_of_the_table_are_read_back(table: DeltaLakeTable, logs: Path) -> None:
    add(table, logs, (0, 5), by=("topic", "date"))

    found = DeltaTable(table.name).to_pyarrow_table(columns=["topic", "date", "partition"])

    assert {(row["topic"], str(row["date"]), row["partition"]) for row in found.to_pylist()} == {
        ("orders", "1970-01-01", 0)
    }


def test_commit_that_would_skip_is_rejected(table: DeltaLakeTable, logs: Path) -> None:
    add(table, logs, (0, 5))

    with pytest.raises(TableError, match="offsets 5 to 6 of orders-0 would be missing"):
        add(table, logs, (7, 10))

    assert _offsets(table) == [0, 1, 2, 3, 4]


def test_second_of_two_exports_at_a_time_is_rejected(
    table: DeltaLakeTable, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(table, logs, (0, 5))
    outdated = DeltaTable(table.name)
    add(table, logs, (5, 10))
    monkeypatch.setattr(table, "_table", iter([outdated, DeltaTable(table.name)]).__next__)

    with pytest.raises(TableError, match="offsets 5 to 9 of orders-0 would be duplicated"):
        add(table, logs, (5, 10))

    assert _offsets(table) == list(range(10))


def test_commits_of_other_programs_succeed(table: DeltaLakeTable, logs: Path) -> None:
    add(table, logs, (0, 5))
    add(table, logs, (5, 8))
    DeltaTable(table.name).optimize.compact()

    assert add(table, logs, (8, 10)).exported == {ORDERS: ExportedOffsets(0, 10, 10)}
    assert _offsets(table) == list(range(10))


def test_restored_table_resumes_at_its_restored_end(table: DeltaLakeTable, logs: Path) -> None:
    add(table, logs, (0, 5))
    add(table, logs, (5, 10))
    DeltaTable(table.name).restore(0)

    assert add(table, logs, (5, 10)).exported == {ORDERS: ExportedOffsets(0, 10, 10)}
    assert _offsets(table) == list(range(10))


def test_table_of_another_program_is_rejected(table: DeltaLakeTable) -> None:
    write_deltalake(table.name, pa.table({"offset": [1]}))

    with pytest.raises(TableError, match="no export has created it"):
        table.state()


def test_pieces_are_the_files_of_the_newest_version(table: DeltaLakeTable, logs: Path) -> None:
    add(table, logs, (0, 5), by=("topic",))
    DeltaTable(table.name).delete("offset < 2")

    (piece,) = table.pieces()

    rows = [row for batch in piece.batches(("topic", "offset")) for row in batch.to_pylist()]
    assert rows == [{"offset": offset, "topic": "orders"} for offset in (2, 3, 4)]


def test_missing_table_has_no_pieces(table: DeltaLakeTable) -> None:
    with pytest.raises(TableError, match="table does not exist"):
        table.pieces()


def test_table_that_the_library_cannot_read_is_rejected(table: DeltaLakeTable, logs: Path) -> None:
    add(table, logs, (0, 5))
    feature = TableFeatures.DeletionVectors
    DeltaTable(table.name).alter.add_feature(feature, allow_protocol_versions_increase=True)

    with pytest.raises(TableError, match=r"deltalake cannot read it: .*deletionVectors"):
        table.pieces()


def test_parquet_table_is_not_converted_to_delta(table: DeltaLakeTable) -> None:
    Path(table.name, "_cordwood").mkdir(parents=True)

    with pytest.raises(TableError, match=r"is a Parquet table of an export.*use format=parquet"):
        table.state()


def _other_split(logs: Path) -> Split:
    write_log(logs, v2(0, 4), partition="others-0")
    others = TopicPartition(TopicName("others"), PartitionId(0))
    return Split(OffsetRange(others, 0, 5), 100, PartitionDirectory(str(logs / "others-0")))


def test_concurrent_exports_of_two_topics_are_both_in_the_state(
    table: DeltaLakeTable, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other export commits after this one has read the state, and before it writes."""
    add(table, logs, (0, 5))
    others = written(table, _other_split(logs), "others")
    write = cast("Callable[..., None]", DeltaTable.create_write_transaction)

    def write_after_the_other(*arguments: object, **named: object) -> None:
        monkeypatch.setattr(DeltaTable, "create_write_transaction", write)
        add(table, logs, (5, 10))
        write(*arguments, **named)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", write_after_the_other)

    after = table.commit(others, layout())

    assert [each.end for each in after.exported.values()] == [10, 5]
    assert table.state() == after


def test_table_that_was_restored_during_an_export_rejects_its_commit(
    table: DeltaLakeTable, logs: Path
) -> None:
    add(table, logs, (0, 5))
    add(table, logs, (5, 8))
    late = written(table, split(logs, 8, 10), "late")
    DeltaTable(table.name).restore(0)

    with pytest.raises(TableError, match="offsets 5 to 7 of orders-0 would be missing"):
        table.commit(late, layout())


def test_table_that_was_restored_to_a_time_resumes_at_its_restored_end(
    table: DeltaLakeTable, logs: Path
) -> None:
    add(table, logs, (0, 5))
    first = Path(table.name, "_delta_log", f"{0:020}.json").stat().st_mtime
    add(table, logs, (5, 10))
    DeltaTable(table.name).restore(datetime.fromtimestamp(first, UTC) + timedelta(milliseconds=1))

    assert add(table, logs, (5, 10)).exported == {ORDERS: ExportedOffsets(0, 10, 10)}
    assert _offsets(table) == list(range(10))


def test_table_whose_log_was_cleaned_is_named_as_such(table: DeltaLakeTable, logs: Path) -> None:
    add(table, logs, (0, 5))
    DeltaTable(table.name).alter.set_table_properties({"delta.checkpointInterval": "50"})
    DeltaTable(table.name).create_checkpoint()
    Path(table.name, "_delta_log", f"{0:020}.json").unlink()

    with pytest.raises(TableError, match="its log no longer has the commit of an export"):
        table.state()

"""Iceberg tables of exports, read back with pyiceberg."""

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyiceberg", reason="the extra spark is not installed")

import pyarrow as pa
from pyiceberg.table import Table

from cordwood.core.errors import SettingError, TableError
from cordwood.core.system import SystemFiles
from cordwood.core.types import PartitionId, TopicPartition
from cordwood.spark.jobs.tables.export_table import TableAddress, TableCommit
from cordwood.spark.jobs.tables.iceberg_table import IcebergTable, open_catalog
from cordwood.spark.jobs.tables.table_ledger import CommitRange, ExportedOffsets, format_state
from tests.unit.spark.jobs.export_samples import ORDERS, add, layout, split, write_log, written
from tests.unit.storage.segment_samples import marker, produced, v2

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> IcebergTable:
    address = TableAddress(path=str(tmp_path / "lake"), format="iceberg", name="logs.orders")
    return IcebergTable(address, SystemFiles())


def _loaded(tmp_path: Path) -> Table:
    address = TableAddress(path=str(tmp_path / "lake"), format="iceberg", name="logs.orders")
    return open_catalog(address).load_table("logs.orders")


def _offsets(tmp_path: Path) -> list[int]:
    found = _loaded(tmp_path).scan(selected_fields=("offset",)).to_arrow()
    return sorted(found.column("offset").to_pylist())


def test_parquet_table_is_not_a_warehouse(tmp_path: Path) -> None:
    (tmp_path / "_cordwood").mkdir()
    address = TableAddress(path=str(tmp_path), format="iceberg", name="logs.orders")

    with pytest.raises(TableError, match="is a Parquet table of an export"):
        IcebergTable(address, SystemFiles())
    assert not (tmp_path / "catalog.db").exists()


def test_missing_table_has_no_state(table: IcebergTable) -> None:
    assert table.state() is None


def test_commits_are_snapshots_of_the_table(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    add(table, logs, (0, 5))
    after = add(table, logs, (5, 10))

    assert _offsets(tmp_path) == list(range(10))
    assert table.state() == after
    assert after.exported == {ORDERS: ExportedOffsets(0, 10, 10)}
    summary = _loaded(tmp_path).snapshots()[-1].summary
    assert summary is not None
    assert summary["cordwood.ranges"] == '{"orders-0":[5,10,5,0]}'


def test_partitions_of_the_table_are_read_back(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    add(table, logs, (0, 5), by=("topic", "date"))

    found = _loaded(tmp_path).scan(row_filter="date = '1970-01-01' and topic = 'orders'")

    assert found.to_arrow().num_rows == 5
    assert [field.name for field in _loaded(tmp_path).spec().fields] == ["topic", "date"]


def test_record_after_the_year_9999_is_exported(table: IcebergTable, tmp_path: Path) -> None:
    """A producer has sent microseconds as milliseconds; pyiceberg has no date for them."""
    times = (1_700_000_000_000, 1_700_000_000_000_000)
    records = [v2(offset, timestamp=time) for offset, time in enumerate(times)]
    logs = write_log(tmp_path / "logs", *records)

    add(table, logs, (0, 2))

    found = _loaded(tmp_path).scan().to_arrow().column("timestamp").cast(pa.timestamp("us"))
    assert found.cast(pa.int64()).to_pylist() == [time * 1000 for time in times]


def test_commit_that_would_skip_is_rejected(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    add(table, logs, (0, 5))

    with pytest.raises(TableError, match="offsets 5 to 6 of orders-0 would be missing"):
        add(table, logs, (7, 10))

    assert _offsets(tmp_path) == [0, 1, 2, 3, 4]


def test_second_of_two_exports_at_a_time_is_rejected(
    table: IcebergTable, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(table, logs, (0, 5))
    part = written(table, split(logs, 5, 10), "b")
    outdated = _loaded(tmp_path)
    add(table, logs, (5, 10))
    loads = iter([outdated, outdated, _loaded(tmp_path)])
    monkeypatch.setattr(table.catalog, "load_table", lambda name: next(loads))

    with pytest.raises(TableError, match="offsets 5 to 9 of orders-0 would be duplicated"):
        table.commit(part, layout())

    assert _offsets(tmp_path) == list(range(10))


def test_commit_without_rows_is_a_snapshot_too(table: IcebergTable, tmp_path: Path) -> None:
    logs = write_log(
        tmp_path / "logs", produced(0, 1, producer_id=1), marker(2, producer_id=1, is_commit=False)
    )

    assert add(table, logs, (0, 3)).exported == {ORDERS: ExportedOffsets(0, 3, 0)}
    assert table.state() == add(table, logs, (3, 3))


def test_commits_of_other_programs_succeed(table: IcebergTable, logs: Path, tmp_path: Path) -> None:
    add(table, logs, (0, 5))
    _loaded(tmp_path).delete("offset = 3")

    assert add(table, logs, (5, 10)).exported == {ORDERS: ExportedOffsets(0, 10, 10)}
    assert _offsets(tmp_path) == [0, 1, 2, 4, 5, 6, 7, 8, 9]


def test_rolled_back_table_resumes_at_its_end(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    add(table, logs, (0, 5))
    first = _loaded(tmp_path).snapshots()[0]
    add(table, logs, (5, 10))
    _loaded(tmp_path).manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()

    part = written(table, split(logs, 5, 10), "again")

    assert table.commit(part, layout()).exported == {ORDERS: ExportedOffsets(0, 10, 10)}
    assert _offsets(tmp_path) == list(range(10))


def test_state_remains_when_snapshots_expire(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    add(table, logs, (0, 5))
    _loaded(tmp_path).delete("offset = 3")
    first = _loaded(tmp_path).snapshots()[0]
    _loaded(tmp_path).maintenance.expire_snapshots().by_id(first.snapshot_id).commit()

    state = table.state()

    assert state is not None
    assert state.exported == {ORDERS: ExportedOffsets(0, 5, 5)}


def test_table_of_another_program_is_rejected(table: IcebergTable, tmp_path: Path) -> None:
    address = TableAddress(path=str(tmp_path / "lake"), format="iceberg", name="logs.orders")
    open_catalog(address).create_namespace("logs")
    open_catalog(address).create_table("logs.orders", schema=pa.schema([("offset", pa.int64())]))

    with pytest.raises(TableError, match="no export has created it"):
        table.state()


def test_warehouse_on_an_object_store_is_rejected(
    table: IcebergTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.folder(layout())
    monkeypatch.setattr(Table, "location", lambda self: "s3://bucket/logs/orders")

    with pytest.raises(SettingError, match=r"logs.orders is at s3://bucket"):
        table.folder(layout())


def test_pieces_are_the_files_of_the_snapshot(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    add(table, logs, (0, 5), by=("topic",))
    _loaded(tmp_path).delete("offset < 2")

    (piece,) = pickle.loads(pickle.dumps(table.pieces()))

    rows = [
        row for batch in piece.batches(("topic", "offset", "nothing")) for row in batch.to_pylist()
    ]
    assert [(row["topic"], row["offset"]) for row in rows] == [("orders", at) for at in (2, 3, 4)]


def test_missing_table_has_no_pieces(table: IcebergTable) -> None:
    with pytest.raises(TableError, match="table does not exist"):
        table.pieces()


def _set(tmp_path: Path, properties: dict[str, str]) -> None:
    with _loaded(tmp_path).transaction() as transaction:
        transaction.set_properties(properties)


def test_retries_of_the_table_do_not_repeat_an_export(
    table: IcebergTable, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other export commits after this one has read the state, and before it commits."""
    add(table, logs, (0, 5))
    _set(tmp_path, {"commit.retry.num-retries": "4", "commit.retry.min-wait-ms": "1"})
    part = written(table, split(logs, 5, 10), "b")
    commit = cast("Callable[..., None]", Table._do_commit)  # noqa: SLF001  # the last step

    def commit_after_the_other(*arguments: object, **named: object) -> None:
        monkeypatch.setattr(Table, "_do_commit", commit)
        add(table, logs, (5, 10))
        _set(tmp_path, {"commit.retry.num-retries": "4"})
        commit(*arguments, **named)

    monkeypatch.setattr(Table, "_do_commit", commit_after_the_other)

    with pytest.raises(TableError, match="offsets 5 to 9 of orders-0 would be duplicated"):
        table.commit(part, layout())

    assert _offsets(tmp_path) == list(range(10))


def _expire_all(tmp_path: Path) -> None:
    table = _loaded(tmp_path)
    current = table.current_snapshot()
    for each in table.snapshots():
        if current is None or each.snapshot_id != current.snapshot_id:
            _loaded(tmp_path).maintenance.expire_snapshots().by_id(each.snapshot_id).commit()


def test_state_of_another_line_of_snapshots_is_not_used(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    add(table, logs, (0, 5))
    first = _loaded(tmp_path).snapshots()[0]
    add(table, logs, (5, 10))
    _loaded(tmp_path).manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    _loaded(tmp_path).delete("offset = 3")
    _expire_all(tmp_path)

    with pytest.raises(TableError, match="cannot determine which offsets it has"):
        table.state()


def test_state_is_used_while_the_table_has_a_row_of_its_last_commit(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    add(table, logs, (0, 5))
    for _ in range(2):
        _loaded(tmp_path).overwrite(_loaded(tmp_path).scan().to_arrow())
    _expire_all(tmp_path)

    state = table.state()

    assert state is not None
    assert state.exported == {ORDERS: ExportedOffsets(0, 5, 5)}


def test_table_that_another_export_creates_at_the_same_time_is_used(
    table: IcebergTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = IcebergTable(
        TableAddress(path=str(tmp_path / "lake"), format="iceberg", name="logs.orders"),
        SystemFiles(),
    )
    other.folder(layout())
    monkeypatch.setattr(table, "_table", lambda: None)

    assert table.folder(layout()) == other.folder(layout())


@pytest.mark.parametrize("character", ("%", "#", "?"))
def test_warehouse_whose_path_is_read_as_an_address_is_rejected(
    tmp_path: Path, character: str
) -> None:
    address = TableAddress(path=f"{tmp_path}/a{character}b", format="iceberg", name="logs.orders")

    with pytest.raises(SettingError, match="reads as parts of an address; use another folder"):
        open_catalog(address)


def test_table_of_an_export_without_commits_stays_usable(
    table: IcebergTable, logs: Path, tmp_path: Path
) -> None:
    table.folder(layout())
    _loaded(tmp_path).append(_loaded(tmp_path).scan().to_arrow())

    assert add(table, logs, (0, 5)).exported == {ORDERS: ExportedOffsets(0, 5, 5)}


def _commit_all_partitions(table: IcebergTable, start: int) -> int:
    """Commit a range of each of 1,000 partitions; return the size of the state."""
    ranges = [
        CommitRange(TopicPartition(ORDERS.topic, PartitionId(number)), start, start + 10**9)
        for number in range(1000)
    ]
    return len(format_state(table.commit(TableCommit((), tuple(ranges)), layout())))


def test_metadata_have_the_states_of_the_snapshots_that_are_left(
    table: IcebergTable, tmp_path: Path
) -> None:
    state = max(_commit_all_partitions(table, number * 10**9) for number in range(4))
    whole = len(_loaded(tmp_path).metadata.model_dump_json())

    _expire_all(tmp_path)

    left = len(_loaded(tmp_path).metadata.model_dump_json())
    assert state < 60_000
    assert whole - left > 3 * state * 9 // 10
    assert left < 4 * state

"""Parquet tables of exports."""

import errno
import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from cordwood.core.errors import TableError
from cordwood.core.system import SystemFiles
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.tables.export_table import TableAddress
from cordwood.spark.jobs.tables.parquet_table import ParquetTable
from cordwood.spark.jobs.tables.table_ledger import ExportedOffsets
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory
from cordwood.spark.source.splits import Split
from tests.unit.spark.jobs.export_samples import ORDERS, add, layout, split, write_log, written
from tests.unit.storage.segment_samples import v2


@pytest.fixture
def table(tmp_path: Path) -> ParquetTable:
    return ParquetTable(TableAddress(path=str(tmp_path / "lake")), SystemFiles())


def _offsets(tmp_path: Path) -> list[int]:
    found = ds.dataset(tmp_path / "lake", format="parquet").to_table(columns=["offset"])
    return sorted(found.column("offset").to_pylist())


def test_missing_folder_has_no_state(table: ParquetTable) -> None:
    assert table.state() is None


def test_commit_moves_files_and_writes_the_state(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    with table.writing():
        after = add(table, logs, (0, 5))

    assert _offsets(tmp_path) == [0, 1, 2, 3, 4]
    assert after == table.state()
    assert after.exported == {ORDERS: ExportedOffsets(0, 5, 5)}


def test_files_move_to_the_folders_of_their_partition(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    with table.writing():
        add(table, logs, (0, 5), by=("date",))

    assert (tmp_path / "lake" / "date=1970-01-01" / "0-0.parquet").exists()


def test_files_without_a_commit_are_removed(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    with table.writing():
        written(table, split(logs, 0, 5), "a", by=("date",))
    with table.writing():
        left = list((tmp_path / "lake" / "_cordwood" / "staged").iterdir())

    assert left == []


def test_interrupted_commit_is_finished_by_the_next_export(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    with table.writing():
        add(table, logs, (0, 5))
        (lake / "0-0.parquet").rename(lake / "_cordwood" / "staged" / "0-0.parquet")
        assert table.state() is not None
        with pytest.raises(TableError, match=r"0-0.parquet is still staged"):
            table.pieces()

    with table.writing():
        assert len(table.pieces()) == 1

    assert _offsets(tmp_path) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("text", ("{", "{}", "[]", '{"cordwood.standing": {}, "files": []}'))
def test_commit_that_is_damaged_is_named(table: ParquetTable, logs: Path, text: str) -> None:
    with table.writing():
        add(table, logs, (0, 5))
        (commit,) = Path(table.name).glob("_cordwood/commits/*")
        commit.write_text(text)

    for look in (table.state, table.pieces, table.writing().__enter__):
        with pytest.raises(TableError, match=rf"{commit}: not a commit of an export"):
            look()


def test_file_that_is_damaged_is_named(table: ParquetTable, logs: Path) -> None:
    with table.writing():
        add(table, logs, (0, 5))
    Path(table.name, "0-0.parquet").write_bytes(b"PAR1")

    with pytest.raises(TableError, match=r"cannot be read: .*0-0.parquet"):
        table.pieces()


def test_removed_file_does_not_prevent_an_audit(table: ParquetTable, logs: Path) -> None:
    """An audit reports the missing rows; an export would not restore them."""
    with table.writing():
        add(table, logs, (0, 5))
    Path(table.name, "0-0.parquet").unlink()

    assert table.pieces() == []


def test_duplicate_commit_is_rejected_and_adds_no_rows(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    with table.writing():
        add(table, logs, (0, 5))

        with pytest.raises(TableError, match="offsets 4 to 4 of orders-0 would be duplicated"):
            add(table, logs, (4, 10))

    assert _offsets(tmp_path) == [0, 1, 2, 3, 4]


def test_second_export_at_a_time_is_rejected(table: ParquetTable) -> None:
    with table.writing(), pytest.raises(TableError, match="locked by another export"):
        table.writing().__enter__()


def test_folder_with_other_files_is_rejected(table: ParquetTable, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "notes.txt").touch()

    with pytest.raises(TableError, match="no export has created it"):
        table.state()


def test_commits_contain_their_ranges(table: ParquetTable, logs: Path, tmp_path: Path) -> None:
    with table.writing():
        add(table, logs, (0, 5))
        add(table, logs, (5, 10))

    path = tmp_path / "lake" / "_cordwood" / "commits" / f"{1:020}.json"
    assert json.loads(path.read_text())["cordwood.ranges"] == '{"orders-0":[5,10,5,0]}'


def test_pieces_have_their_partition_columns(table: ParquetTable, logs: Path) -> None:
    with table.writing():
        add(table, logs, (0, 5), by=("topic",))

    (piece,) = table.pieces()

    (batch,) = piece.batches(("topic", "offset"))
    assert batch.to_pylist() == [{"offset": at, "topic": "orders"} for at in range(5)]


def test_missing_table_has_no_pieces(table: ParquetTable) -> None:
    with pytest.raises(TableError, match="table does not exist"):
        table.pieces()


def test_commit_with_a_number_that_another_export_has_taken_is_rejected(
    table: ParquetTable, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two exports hold a lock of a file system whose locks have no effect."""
    with table.writing():
        add(table, logs, (0, 5))
        late = written(table, split(logs, 5, 10), "late")
        newest = Path(table.name, "_cordwood", "commits", f"{0:020}.json")
        add(table, logs, (5, 10))
        monkeypatch.setattr(table, "_newest", lambda: newest)

        with pytest.raises(TableError, match="another export has committed"):
            table.commit(late, layout())


def test_commit_follows_the_newest_one_if_older_ones_are_gone(
    table: ParquetTable, logs: Path
) -> None:
    with table.writing():
        add(table, logs, (0, 2))
        add(table, logs, (2, 5))
        Path(table.name, "_cordwood", "commits", f"{0:020}.json").unlink()

        add(table, logs, (5, 10))

    state = table.state()
    assert state is not None
    assert state.exported == {ORDERS: ExportedOffsets(0, 10, 10)}


def test_file_system_without_hard_links_is_rejected(
    table: ParquetTable, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOTSUP, "not supported")

    monkeypatch.setattr(Path, "hardlink_to", refuse)

    with table.writing(), pytest.raises(TableError, match="cannot create a file exclusively"):
        add(table, logs, (0, 5))


def test_topic_of_digits_keeps_its_leading_zeros(table: ParquetTable, logs: Path) -> None:
    write_log(logs, v2(0, 4), partition="007-0")
    digits = TopicPartition(TopicName("007"), PartitionId(0))
    part = Split(OffsetRange(digits, 0, 5), 100, PartitionDirectory(str(logs / "007-0")))
    with table.writing():
        table.commit(written(table, part, "a", by=("topic",)), layout(("topic",)))

    (piece,) = table.pieces()

    rows = [row for batch in piece.batches(("topic",)) for row in batch.to_pylist()]
    assert rows == [{"topic": "007"}] * 5

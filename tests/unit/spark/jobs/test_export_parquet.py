"""An export into a folder."""

import json
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from cordwood.core.errors import TableError
from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.export_ledger import Held
from cordwood.spark.jobs.export_parquet import ParquetTable
from cordwood.spark.jobs.export_tables import TableAddress
from tests.unit.spark.jobs.export_samples import ORDERS, add, split, written


@pytest.fixture
def table(tmp_path: Path) -> ParquetTable:
    return ParquetTable(TableAddress(path=str(tmp_path / "lake")), SystemFiles())


def _offsets(tmp_path: Path) -> list[int]:
    found = ds.dataset(tmp_path / "lake", format="parquet").to_table(columns=["offset"])
    return sorted(found.column("offset").to_pylist())


def test_folder_that_is_not_there_has_no_standing(table: ParquetTable) -> None:
    assert table.standing() is None


def test_commit_puts_files_and_standing_in_place(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    with table.writing():
        after = add(table, logs, (0, 5))

    assert _offsets(tmp_path) == [0, 1, 2, 3, 4]
    assert after == table.standing()
    assert after.held == {ORDERS: Held(0, 5, 5)}


def test_files_go_to_the_folders_of_their_place(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    with table.writing():
        add(table, logs, (0, 5), by=("date",))

    assert (tmp_path / "lake" / "date=1970-01-01" / "0-0.parquet").exists()


def test_files_that_no_commit_has_named_are_removed(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    with table.writing():
        written(table, split(logs, 0, 5), "a", by=("date",))
    with table.writing():
        left = list((tmp_path / "lake" / "_cordwood" / "staged").iterdir())

    assert left == []


def test_interrupted_commit_is_finished_by_who_comes_next(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    with table.writing():
        add(table, logs, (0, 5))
        (lake / "0-0.parquet").rename(lake / "_cordwood" / "staged" / "0-0.parquet")
        assert table.standing() is not None
        with pytest.raises(TableError, match=r"0-0.parquet is not in its place"):
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

    for look in (table.standing, table.pieces, table.writing().__enter__):
        with pytest.raises(TableError, match=rf"{commit}: is no commit of an export"):
            look()


def test_file_that_is_damaged_is_named(table: ParquetTable, logs: Path) -> None:
    with table.writing():
        add(table, logs, (0, 5))
    Path(table.name, "0-0.parquet").write_bytes(b"PAR1")

    with pytest.raises(TableError, match=r"cannot be read: .*0-0.parquet"):
        table.pieces()


def test_file_that_somebody_has_removed_keeps_nobody_from_looking(
    table: ParquetTable, logs: Path
) -> None:
    """An audit tells which rows are missing; that an export would bring it back would be wrong."""
    with table.writing():
        add(table, logs, (0, 5))
    Path(table.name, "0-0.parquet").unlink()

    assert table.pieces() == []


def test_commit_that_would_repeat_adds_nothing(
    table: ParquetTable, logs: Path, tmp_path: Path
) -> None:
    with table.writing():
        add(table, logs, (0, 5))

        with pytest.raises(TableError, match="would have offsets 4 to 4 of orders-0 twice"):
            add(table, logs, (4, 10))

    assert _offsets(tmp_path) == [0, 1, 2, 3, 4]


def test_second_export_at_a_time_is_refused(table: ParquetTable) -> None:
    with table.writing(), pytest.raises(TableError, match="another export writes to it"):
        table.writing().__enter__()


def test_folder_with_files_of_others_is_refused(table: ParquetTable, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "notes.txt").touch()

    with pytest.raises(TableError, match="no export has made it"):
        table.standing()


def test_commits_say_what_they_add(table: ParquetTable, logs: Path, tmp_path: Path) -> None:
    with table.writing():
        add(table, logs, (0, 5))
        add(table, logs, (5, 10))

    path = tmp_path / "lake" / "_cordwood" / "commits" / f"{1:020}.json"
    assert json.loads(path.read_text())["cordwood.ranges"] == '{"orders-0":[5,10,5,0]}'


def test_pieces_know_the_columns_of_their_place(table: ParquetTable, logs: Path) -> None:
    with table.writing():
        add(table, logs, (0, 5), by=("topic",))

    (piece,) = table.pieces()

    (batch,) = piece.batches(("topic", "offset"))
    assert batch.to_pylist() == [{"offset": at, "topic": "orders"} for at in range(5)]


def test_table_that_is_not_there_has_no_pieces(table: ParquetTable) -> None:
    with pytest.raises(TableError, match="there is no table"):
        table.pieces()

"""What a file of a table has; those of Iceberg's are read in its own test."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.audit_pieces import Columns, ParquetPiece, find_rows
from cordwood.spark.jobs.audit_runs import Run, unpacked
from cordwood.spark.options import TopicChoice

T0 = TopicPartition(TopicName("t"), PartitionId(0))
T1 = TopicPartition(TopicName("t"), PartitionId(1))
OURS = Columns()
ROWS = {"topic": ["t"] * 5, "partition": [0, 1, 0, 0, 1], "offset": [4, 9, 6, 5, 9]}


def _piece(tmp_path: Path, rows: dict[str, object], **constants: object) -> ParquetPiece:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(rows), path)
    return ParquetPiece(str(path), 77, constants)


def _found(
    piece: ParquetPiece, columns: Columns = OURS, topics: TopicChoice | None = None
) -> dict[TopicPartition, list[Run]]:
    packed = find_rows(piece, lambda _: None, columns=columns, topics=topics or TopicChoice())
    return {partition: unpacked(data) for partition, data in packed.items()}


def test_rows_of_each_partition_are_told_apart(tmp_path: Path) -> None:
    assert _found(_piece(tmp_path, ROWS)) == {T0: [Run(4, 7)], T1: [Run(9, 10), Run(9, 10)]}


def test_rows_of_other_topics_are_left_out(tmp_path: Path) -> None:
    assert _found(_piece(tmp_path, ROWS), topics=TopicChoice(names=frozenset({"u"}))) == {}


def test_columns_of_the_place_are_constants(tmp_path: Path) -> None:
    piece = _piece(tmp_path, {"offset": [1, 2]}, topic="t", partition=1)

    assert _found(piece) == {T1: [Run(1, 3)]}


def test_columns_may_lie_in_structs_and_have_other_types(tmp_path: Path) -> None:
    rows = {"meta": [{"p": "1", "o": "7"}], "topic": ["t"]}

    assert _found(_piece(tmp_path, rows), Columns("topic", "meta.p", "meta.o")) == {T1: [Run(7, 8)]}


def test_topic_may_be_said_of_all_rows(tmp_path: Path) -> None:
    piece = _piece(tmp_path, {"partition": [0], "offset": [3]})

    assert _found(piece, Columns(only_topic="t")) == {T0: [Run(3, 4)]}


def test_bytes_are_told(tmp_path: Path) -> None:
    told: list[int] = []

    find_rows(_piece(tmp_path, ROWS), told.append, columns=Columns(), topics=TopicChoice())

    assert told == [77]


@pytest.mark.parametrize(
    ("rows", "words"),
    (
        ({"partition": [0], "offset": [3]}, "has no column topic; say topicColumn"),
        ({**ROWS, "offset": [1, 2, None, 4, 5]}, "has rows without offset"),
        ({**ROWS, "partition": ["a"] * 5}, "cannot be read: .*'a'"),
    ),
)
def test_rows_that_say_nothing_are_refused_by_name(
    tmp_path: Path, rows: dict[str, object], words: str
) -> None:
    with pytest.raises(TableError, match=words) as refused:
        _found(_piece(tmp_path, rows))

    assert refused.value.path.endswith("a.parquet")


def test_file_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet")

    with pytest.raises(TableError, match=r"a.parquet: cannot be read"):
        _found(ParquetPiece(str(tmp_path / "a.parquet"), 77, {}))

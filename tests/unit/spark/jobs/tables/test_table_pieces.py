"""Offsets in the files of a table; `test_iceberg_table` reads those of Iceberg."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.tables.offset_spans import unpack_spans
from cordwood.spark.jobs.tables.table_pieces import AuditColumns, ParquetPiece, find_table_offsets
from cordwood.spark.source.source_options import TopicChoice

T0 = TopicPartition(TopicName("t"), PartitionId(0))
T1 = TopicPartition(TopicName("t"), PartitionId(1))
OURS = AuditColumns()
ROWS = {"topic": ["t"] * 5, "partition": [0, 1, 0, 0, 1], "offset": [4, 9, 6, 5, 9]}


def _piece(tmp_path: Path, rows: dict[str, object], **constants: object) -> ParquetPiece:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(rows), path)
    return ParquetPiece(str(path), 77, constants)


def _found(
    piece: ParquetPiece, columns: AuditColumns = OURS, topics: TopicChoice | None = None
) -> dict[TopicPartition, list[tuple[int, int]]]:
    packed = find_table_offsets(
        piece, lambda _: None, columns=columns, topics=topics or TopicChoice()
    )
    return {partition: unpack_spans(data).pairs() for partition, data in packed.items()}


def test_rows_are_grouped_by_partition(tmp_path: Path) -> None:
    assert _found(_piece(tmp_path, ROWS)) == {
        T0: [(4, 7)],
        T1: [(9, 10), (9, 10)],
    }


def test_rows_of_other_topics_are_left_out(tmp_path: Path) -> None:
    assert _found(_piece(tmp_path, ROWS), topics=TopicChoice(names=frozenset({"u"}))) == {}


def test_partition_columns_are_constants(tmp_path: Path) -> None:
    piece = _piece(tmp_path, {"offset": [1, 2]}, topic="t", partition=1)

    assert _found(piece) == {T1: [(1, 3)]}


def test_columns_can_be_in_structs_and_have_other_types(tmp_path: Path) -> None:
    rows = {"meta": [{"p": "1", "o": "7"}], "topic": ["t"]}

    assert _found(_piece(tmp_path, rows), AuditColumns("topic", "meta.p", "meta.o")) == {
        T1: [(7, 8)]
    }


def test_topic_can_be_given_for_all_rows(tmp_path: Path) -> None:
    piece = _piece(tmp_path, {"partition": [0], "offset": [3]})

    assert _found(piece, AuditColumns(only_topic="t")) == {T0: [(3, 4)]}


def test_bytes_are_reported(tmp_path: Path) -> None:
    reported: list[int] = []

    find_table_offsets(
        _piece(tmp_path, ROWS), reported.append, columns=AuditColumns(), topics=TopicChoice()
    )

    assert reported == [77]


@pytest.mark.parametrize(
    ("rows", "words"),
    (
        ({"partition": [0], "offset": [3]}, "column topic does not exist; set topicColumn"),
        ({**ROWS, "offset": [1, 2, None, 4, 5]}, "column offset has nulls"),
        ({**ROWS, "partition": ["a"] * 5}, "cannot be read: .*'a'"),
    ),
)
def test_rows_without_values_are_rejected(
    tmp_path: Path, rows: dict[str, object], words: str
) -> None:
    with pytest.raises(TableError, match=words) as rejected:
        _found(_piece(tmp_path, rows))

    assert rejected.value.path.endswith("a.parquet")


def test_file_of_another_format_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet")

    with pytest.raises(TableError, match=r"a.parquet: cannot be read"):
        _found(ParquetPiece(str(tmp_path / "a.parquet"), 77, {}))

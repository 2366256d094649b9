"""Reading of a split in a task."""

from pathlib import Path

import pytest

from cordwood.core.errors import OffsetOutOfRangeError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory
from cordwood.spark.source.source_options import SourceOptions
from cordwood.spark.source.split_reader import read_split
from cordwood.spark.source.splits import Split
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import marker, produced, v2

PARTITION = TopicPartition(TopicName("orders"), PartitionId(0))


def _offsets(folder: Path, start: int, end: int, *, is_committed: bool = False) -> list[int]:
    data = v2(0) + produced(1, 2, producer_id=1) + marker(3, producer_id=1, is_commit=False) + v2(4)
    (folder / name(0)).write_bytes(data)
    split = Split(OffsetRange(PARTITION, start, end), len(data), PartitionDirectory(str(folder)))
    options = SourceOptions(is_committed=is_committed)
    batches = read_split(split, ("offset",), options=options)
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def test_task_reads_its_offsets_alone(tmp_path: Path) -> None:
    assert _offsets(tmp_path, 1, 4) == [1, 2]


def test_read_committed_task_leaves_out_aborted_records(tmp_path: Path) -> None:
    assert _offsets(tmp_path, 0, 5, is_committed=True) == [0, 4]


def _lost(folder: Path, **options: object) -> list[int]:
    """Return the offsets read from 0 to 5 of a log whose start is now 3."""
    (folder / name(3)).write_bytes(v2(3, 5))
    split = Split(OffsetRange(PARTITION, 0, 6), 0, PartitionDirectory(str(folder)))
    batches = read_split(split, ("offset",), options=SourceOptions(**options))  # type: ignore[arg-type]  # by name
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def test_task_fails_when_planned_offsets_were_deleted(tmp_path: Path) -> None:
    with pytest.raises(OffsetOutOfRangeError, match="no source has offsets 0 to 2 of orders-0"):
        _lost(tmp_path)


def test_task_records_deleted_offsets_in_the_gap_table(tmp_path: Path) -> None:
    table = tmp_path / "gaps"

    assert _lost(tmp_path, gap="record", gap_table=str(table)) == [3, 4, 5]
    assert [each.name for each in table.iterdir()] == ["orders-0-0-3.parquet"]


def test_task_reads_deleted_offsets_from_the_refill_path(tmp_path: Path) -> None:
    archive = tmp_path / "archive" / "orders-0"
    archive.mkdir(parents=True)
    (archive / name(0)).write_bytes(v2(0, 9))

    assert _lost(tmp_path, gap="refill", refill_path=str(archive)) == [0, 1, 2, 3, 4, 5]

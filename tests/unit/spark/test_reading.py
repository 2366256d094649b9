"""A task's reading of a split."""

from pathlib import Path

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.holdings import Range
from cordwood.spark.options import SourceOptions
from cordwood.spark.reading import read_split
from cordwood.spark.splits import Split
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import marker, produced, v2

PARTITION = TopicPartition(TopicName("orders"), PartitionId(0))


def _offsets(folder: Path, start: int, end: int, *, is_committed: bool = False) -> list[int]:
    data = v2(0) + produced(1, 2, producer_id=1) + marker(3, producer_id=1, is_commit=False) + v2(4)
    (folder / name(0)).write_bytes(data)
    split = Split(Range(PARTITION, start, end), len(data), str(folder))
    options = SourceOptions(is_committed=is_committed)
    batches = read_split(split, ("offset",), options=options)
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


def test_task_reads_its_offsets_alone(tmp_path: Path) -> None:
    assert _offsets(tmp_path, 1, 4) == [1, 2]


def test_task_leaves_out_what_was_aborted(tmp_path: Path) -> None:
    assert _offsets(tmp_path, 0, 5, is_committed=True) == [0, 4]

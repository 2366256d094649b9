"""Policies for offsets that no source has."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cordwood.core.errors import InconsistentTopicIdError, OffsetOutOfRangeError
from cordwood.core.system import SystemFiles
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory, PlannedRead
from cordwood.spark.source.offset_gaps import resolve_gaps
from cordwood.spark.source.source_options import SourceOptions
from cordwood.storage.checkpoints.partition_metadata_file import write_partition_metadata
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
GAP = OffsetRange(ORDERS, 3, 9)


def _resolved(*gaps: OffsetRange, **options: object) -> list[PlannedRead]:
    return resolve_gaps(SystemFiles(), gaps, options=SourceOptions(**options))  # type: ignore[arg-type]  # by name


def _archive(folder: Path, first: int, last: int) -> str:
    (folder / "orders-0").mkdir()
    (folder / "orders-0" / name(first)).write_bytes(v2(first, last))
    return str(folder)


def test_gap_fails_the_read_and_is_named() -> None:
    with pytest.raises(OffsetOutOfRangeError, match="no source has offsets 3 to 8 of orders-0; "):
        _resolved(GAP)


def test_no_gaps_need_no_reads() -> None:
    assert _resolved() == []


def test_gap_is_recorded_in_the_gap_table(tmp_path: Path) -> None:
    table = f"{tmp_path}/gaps"

    assert _resolved(GAP, gap="record", gap_table=table) == []

    assert pq.read_table(table).to_pylist() == [
        {"topic": "orders", "partition": 0, "first_offset": 3, "end_offset": 9}
    ]


def test_gap_that_is_found_again_is_recorded_once(tmp_path: Path) -> None:
    table = tmp_path / "gaps"
    for _ in range(2):
        _resolved(GAP, gap="record", gap_table=table.as_uri())

    assert [each.name for each in table.iterdir()] == ["orders-0-3-9.parquet"]


def test_gap_is_not_refilled_from_another_topic_of_the_same_name(tmp_path: Path) -> None:
    path = _archive(tmp_path, 0, 20)
    topic_id = Uuid(bytes(15) + b"\1")
    write_partition_metadata(SystemFiles(), f"{path}/orders-0", topic_id=topic_id)
    options = SourceOptions(gap="refill", refill_path=path)
    ids = {"orders": format_uuid(topic_id)}

    assert resolve_gaps(SystemFiles(), [GAP], options=options, topic_ids=ids)
    with pytest.raises(InconsistentTopicIdError, match="orders-0: another topic orders than"):
        resolve_gaps(SystemFiles(), [GAP], options=options, topic_ids={"orders": "B"})


def test_gap_is_refilled_from_another_directory(tmp_path: Path) -> None:
    path = _archive(tmp_path, 0, 20)

    assert _resolved(GAP, gap="refill", refill_path=path) == [
        PlannedRead(GAP, PartitionDirectory(f"{path}/orders-0"))
    ]


def test_gap_that_cannot_be_refilled_fails_the_read(tmp_path: Path) -> None:
    path = _archive(tmp_path, 0, 5)

    with pytest.raises(OffsetOutOfRangeError, match="no source has offsets 6 to 8 of orders-0; "):
        _resolved(GAP, gap="refill", refill_path=path)


def test_refill_path_may_lack_the_partition(tmp_path: Path) -> None:
    (tmp_path / "other-0").mkdir()

    with pytest.raises(OffsetOutOfRangeError, match="no source has offsets 3 to 8"):
        _resolved(GAP, gap="refill", refill_path=str(tmp_path))


def test_offsets_of_overlapping_gaps_are_recorded_once(tmp_path: Path) -> None:
    table = f"{tmp_path}/gaps"
    other = GAP._replace(partition=TopicPartition(TopicName("orders"), PartitionId(1)))
    for gap in (GAP, other, GAP._replace(start=0, end=20), GAP._replace(start=4, end=6)):
        _resolved(gap, gap="record", gap_table=table)

    rows = pq.read_table(table, filters=[("partition", "=", 0)]).to_pylist()

    assert sorted((row["first_offset"], row["end_offset"]) for row in rows) == [
        (0, 3),
        (3, 9),
        (9, 20),
    ]

"""What becomes of offsets that no place has."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from cordwood.core.errors import InconsistentTopicIdError, OffsetOutOfRangeError
from cordwood.core.ids import Uuid, format_uuid
from cordwood.core.system import SystemFiles
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.gaps import close_holes
from cordwood.spark.holdings import Piece, Range
from cordwood.spark.options import SourceOptions
from cordwood.storage.partition_metadata import write_partition_metadata
from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
HOLE = Range(ORDERS, 3, 9)


def _closed(*holes: Range, **options: object) -> list[Piece]:
    return close_holes(SystemFiles(), holes, options=SourceOptions(**options))  # type: ignore[arg-type]  # by name


def _archive(folder: Path, first: int, last: int) -> str:
    (folder / "orders-0").mkdir()
    (folder / "orders-0" / name(first)).write_bytes(v2(first, last))
    return str(folder)


def test_hole_ends_the_reading_and_is_named() -> None:
    with pytest.raises(OffsetOutOfRangeError, match="nothing has offsets 3 to 8 of orders-0; "):
        _closed(HOLE)


def test_no_hole_is_no_matter() -> None:
    assert _closed() == []


def test_hole_is_recorded_where_it_is_to_be(tmp_path: Path) -> None:
    table = f"{tmp_path}/gaps"

    assert _closed(HOLE, gap="record", gap_table=table) == []

    assert pq.read_table(table).to_pylist() == [
        {"topic": "orders", "partition": 0, "first_offset": 3, "end_offset": 9}
    ]


def test_hole_that_is_found_again_is_told_once(tmp_path: Path) -> None:
    table = tmp_path / "gaps"
    for _ in range(2):
        _closed(HOLE, gap="record", gap_table=table.as_uri())

    assert [each.name for each in table.iterdir()] == ["orders-0-3-9.parquet"]


def test_hole_is_not_refilled_from_another_topic_of_the_same_name(tmp_path: Path) -> None:
    path = _archive(tmp_path, 0, 20)
    topic_id = Uuid(bytes(15) + b"\1")
    write_partition_metadata(SystemFiles(), f"{path}/orders-0", topic_id=topic_id)
    options = SourceOptions(gap="refill", refill_path=path)
    ids = {"orders": format_uuid(topic_id)}

    assert close_holes(SystemFiles(), [HOLE], options=options, topic_ids=ids)
    with pytest.raises(InconsistentTopicIdError, match="orders-0 is of another topic orders than"):
        close_holes(SystemFiles(), [HOLE], options=options, topic_ids={"orders": "B"})


def test_hole_is_refilled_from_elsewhere(tmp_path: Path) -> None:
    path = _archive(tmp_path, 0, 20)

    assert _closed(HOLE, gap="refill", refill_path=path) == [Piece(HOLE, f"{path}/orders-0")]


def test_hole_that_cannot_be_refilled_ends_the_reading(tmp_path: Path) -> None:
    path = _archive(tmp_path, 0, 5)

    with pytest.raises(OffsetOutOfRangeError, match="nothing has offsets 6 to 8 of orders-0; "):
        _closed(HOLE, gap="refill", refill_path=path)


def test_place_for_refilling_may_lack_the_partition(tmp_path: Path) -> None:
    (tmp_path / "other-0").mkdir()

    with pytest.raises(OffsetOutOfRangeError, match="nothing has offsets 3 to 8"):
        _closed(HOLE, gap="refill", refill_path=str(tmp_path))

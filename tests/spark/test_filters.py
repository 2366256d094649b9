"""Filter pushdown in a session: the same rows, from fewer bytes."""

from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import times

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

SETTING = "spark.sql.python.filterPushdown.enabled"
CONDITIONS = (
    "topic = 'orders' and partition in (0, 2) and offset between 2 and 4",
    "offset in (1, 5) and key is null and value = 'v'",
    "timestamp < timestamp_millis(40) and timestamp > timestamp_millis(10)",
    "timestamp >= timestamp_millis(30) and offset % 2 = 1 and not partition = 0",
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Write three partitions of six records with unordered timestamps."""
    folder = tmp_path_factory.mktemp("logs")
    for partition in range(3):
        (folder / f"orders-{partition}").mkdir()
        data = times(0, 10, 30, 20) + times(3, 25, 50, 40)
        (folder / f"orders-{partition}" / name(0)).write_bytes(data)
    return str(folder)


@pytest.fixture
def pushed(spark: "SparkSession") -> Iterator["SparkSession"]:
    """Enable filter pushdown in the session."""
    spark.conf.set(SETTING, "true")
    yield spark
    spark.conf.unset(SETTING)


def _frame(spark: "SparkSession", logs: str, *, is_pushed: str = "true") -> "DataFrame":
    return spark.read.format("cordwood").option("pushFilters", is_pushed).load(logs)


def _rows(frame: "DataFrame") -> list[tuple[int, int]]:
    return sorted((row.partition, row.offset) for row in frame.collect())


def test_filters_select_the_same_rows_pushed_down_or_not(pushed: "SparkSession", logs: str) -> None:
    whole = _frame(pushed, logs, is_pushed="false")

    wanted = _numbered([whole for _ in CONDITIONS])
    found = _numbered([_frame(pushed, logs) for _ in CONDITIONS])

    assert found == wanted
    assert {number for number, *_ in found} == set(range(len(CONDITIONS)))


def _numbered(frames: Sequence[DataFrame]) -> list[tuple[int, ...]]:
    """Return the rows of each filtered frame."""
    filtered = [
        frame.where(condition).select(lit(number), "partition", "offset")
        for number, (frame, condition) in enumerate(zip(frames, CONDITIONS, strict=True))
    ]
    return sorted(map(tuple, reduce(DataFrame.union, filtered).collect()))


def test_partitions_that_filters_leave_out_are_not_opened(
    pushed: "SparkSession", logs: str, tmp_path: Path
) -> None:
    (tmp_path / "orders-0").symlink_to(f"{logs}/orders-0")
    (tmp_path / "orders-1").mkdir()
    (tmp_path / "orders-1" / name(0)).write_bytes(b"\xff" * 100)

    frame = _frame(pushed, str(tmp_path)).where("partition = 0")

    assert _rows(frame) == [(0, offset) for offset in range(6)]


def test_dataframe_can_be_filtered_repeatedly_without_filter_pushdown(
    pushed: "SparkSession", logs: str
) -> None:
    frame = _frame(pushed, logs, is_pushed="false")

    assert len(_rows(frame.where("partition = 1 and offset >= 2"))) == 4
    assert len(_rows(frame)) == 18

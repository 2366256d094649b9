"""The stream reader as Spark calls it, without a session."""

import logging
from collections.abc import Iterable
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from cordwood.core.errors import SettingError
from cordwood.spark.stream.stream_options import parse_stream_options
from cordwood.spark.stream.stream_reader import CordwoodStreamReader, RejectedStreamReader
from tests.unit.spark.stream.stream_samples import records, write_log

pytestmark = pytest.mark.spark


def reader_of(folder: Path, **more: str) -> CordwoodStreamReader:
    given = {"path": str(folder), "startingOffsets": "earliest", **more}
    return CordwoodStreamReader(parse_stream_options(given), ("offset",))


def test_initial_offset_is_a_constant(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 3))

    assert reader_of(tmp_path).initialOffset() == {}


def test_batch_is_read_by_a_pickled_reader(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 3))
    reader = reader_of(tmp_path)
    end = reader.latestOffset(start := reader.initialOffset(), ReadAllAvailable())

    (partition,) = reader.partitions(start, end)

    task = cloudpickle.loads(cloudpickle.dumps(reader))  # type: ignore[no-untyped-call]  # PySpark's
    assert _offsets(task.read(partition)) == [0, 1, 2]


def test_task_without_a_split_reads_nothing(tmp_path: Path) -> None:
    assert list(reader_of(tmp_path).read(InputPartition(None))) == []


def test_limit_of_spark_is_obeyed(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 9))
    reader = reader_of(tmp_path, maxOffsetsPerTrigger="5")

    assert reader.getDefaultReadLimit() == ReadMaxRows(5)
    assert reader.latestOffset({}, ReadMaxRows(2))["t"] == {"0": 2}


def test_target_is_fixed_by_spark(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 3))
    reader = reader_of(tmp_path)
    reader.prepareForTriggerAvailableNow()
    write_log(tmp_path, records(0, 9))

    assert reader.latestOffset({}, ReadAllAvailable())["t"] == {"0": 3}
    assert (reader.reportLatestOffset() or {})["t"] == {"0": 9}


def test_group_prefix_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_log(tmp_path, records(0, 3))
    reader = reader_of(tmp_path, groupIdPrefix="spark")
    with caplog.at_level(logging.WARNING, "cordwood"):
        for _ in range(2):
            reader.latestOffset({}, ReadAllAvailable())

    assert caplog.text.count("groupIdPrefix has no effect") == 1


def test_rejected_reader_raises_where_spark_shows_it() -> None:
    reader = RejectedStreamReader(SettingError("no", key="path", remedy="yes"))

    for call in (reader.initialOffset, reader.latestOffset, reader.partitions):
        with pytest.raises(SettingError, match="no; yes"):
            call()
    with pytest.raises(SettingError, match="no; yes"):
        reader.read(InputPartition(None))


def _offsets(batches: Iterable[pa.RecordBatch]) -> list[int]:
    return [offset for batch in batches for offset in batch["offset"].to_pylist()]

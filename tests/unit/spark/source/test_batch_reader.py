"""The batch readers as Spark calls them; `test_data_source` has those that the source returns."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pyspark import cloudpickle
from pyspark.sql.datasource import InputPartition

from cordwood.spark.source.batch_reader import CordwoodReader, SplitPartition
from cordwood.spark.source.source_options import SourceOptions, parse_options
from tests.unit.spark.stream.stream_samples import records, write_log

pytestmark = pytest.mark.spark


def test_split_is_read_by_a_pickled_reader(tmp_path: Path) -> None:
    write_log(tmp_path, records(0, 2))
    reader = CordwoodReader(SourceOptions(paths=(str(tmp_path),)), ("offset",))

    (partition,) = reader.partitions()

    task, given = cloudpickle.loads(cloudpickle.dumps((reader, partition)))  # type: ignore[no-untyped-call]  # PySpark's
    rows = [batch["offset"].to_pylist() for batch in task.read(given)]
    assert sum(rows, start=list[int]()) == [0, 1]


@pytest.mark.parametrize(("pattern", "offsets"), (("none.*", []), (".*", [0, 1])))
def test_pattern_that_matches_no_topic_reads_no_records(
    tmp_path: Path, pattern: str, offsets: list[int]
) -> None:
    write_log(tmp_path, records(0, 2))
    options = parse_options({"path": str(tmp_path), "subscribePattern": pattern})
    reader = CordwoodReader(options, ("offset",))

    rows = [
        offset
        for partition in reader.partitions()
        for batch in reader.read(partition)
        for offset in batch["offset"].to_pylist()
    ]

    assert rows == offsets


@pytest.mark.parametrize("partition", (SplitPartition([]), InputPartition(None)))
def test_task_without_a_split_reads_nothing(tmp_path: Path, partition: InputPartition) -> None:
    reader = CordwoodReader(SourceOptions(paths=(str(tmp_path),)), ("offset",))

    assert list(reader.read(partition)) == []

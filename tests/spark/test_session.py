"""The source in a session: a log that was written is a DataFrame."""

from pathlib import Path
from typing import TYPE_CHECKING

from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_log_is_read_by_the_name_of_the_format(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(v2(0) + v2(1))

    frame = spark.read.format("cordwood").load(str(tmp_path))

    assert [row.offset for row in frame.select("offset").collect()] == [0, 1]

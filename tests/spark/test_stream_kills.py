"""A stream whose driver is killed repeats and skips nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

import cordwood
import cordwood.spark
from tests.spark.driver_kills import SOURCES
from tests.spark.stream_program import write_batch
from tests.spark_session import SITE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

RECORDS: Final = 90
PROGRAM: Final = "tests.spark.stream_program"


def killed(folder: Path, options: dict[str, str], place: str, batch: int) -> None:
    """Run the program until it dies."""
    paths = os.pathsep.join([SITE, str(SOURCES), str(SOURCES.parent)])
    done = subprocess.run(
        [sys.executable, "-m", PROGRAM, str(folder), json.dumps(options), place, str(batch)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, f"killed in {place} {batch}: {done.returncode}"


def test_stream_repeats_and_skips_nothing_after_its_driver_was_killed(
    spark: "SparkSession", tmp_path: Path
) -> None:
    with cordwood.Broker(tmp_path / "logs", config={"num.partitions": 3}) as broker:
        with cordwood.Producer(broker.address) as producer:
            for number in range(RECORDS):
                producer.send("orders", b"%d" % number, partition=number % 3)
        options = {
            "kafka.bootstrap.servers": broker.address,
            "subscribe": "orders",
            "startingOffsets": "earliest",
            "maxOffsetsPerTrigger": "15",
        }

        killed(tmp_path, options, "batch", 1)
        killed(tmp_path, options, "commit", 3)
        _finish(spark, tmp_path, options)

    deliveries = [int(line) for line in (tmp_path / "deliveries").read_text().split()]
    batches = [json.loads(path.read_text()) for path in tmp_path.glob("batch-*.json")]
    assert sorted(value for batch in batches for value in batch) == list(range(RECORDS))
    assert {len(batch) for batch in batches} == {15}
    assert deliveries.count(1) == 2
    assert set(deliveries) == set(range(6))


def _finish(spark: "SparkSession", folder: Path, options: dict[str, str]) -> None:
    frame = cordwood.spark.read_stream(spark, None, columns=None, **options)
    writer = frame.writeStream.foreachBatch(lambda rows, number: write_batch(folder, rows, number))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()

"""A pipeline exactly once through a kill: its driver is killed between batches, and started again.

The parent kills the process of the pipeline with SIGKILL once the table has some batches. The
second run continues from the checkpoint. An audit compares the offsets of the log with the table.
"""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import cordwood

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

TOPIC: Final = "orders"
BATCHES: Final = 8
#: Batches in the table at the time of the kill.
KILLED_AFTER: Final = 3
STEP: Final = "SELECT key, record.cents AS cents, topic, partition, offset FROM input"
_LOOK_AGAIN_S: Final = 0.05
_PATIENCE_S: Final = 120


def show_pipeline(orders: "Iterable[tuple[bytes, bytes]]") -> None:
    """Run a pipeline into a table, kill it half way, run it again, and prove the result."""
    records = list(orders)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with (
            cordwood.Broker(folder / "kafka-logs") as broker,
            cordwood.Producer(broker.address) as producer,
        ):
            for key, value in records:
                producer.send(TOPIC, value, key=key)
            producer.flush()
            command = (sys.executable, "-m", "examples.pipeline_demo", name, broker.address)
            killed_at = _run_until_killed(command, folder, len(records))
            done = subprocess.run(
                (*command, str(len(records))), capture_output=True, text=True, check=False
            )
        assert done.returncode == 0, done.stderr[-2000:]
    print(
        f"a pipeline of {len(records):,} orders into a table, in batches of"
        f" {len(records) // BATCHES:,}: kill -9 after {killed_at} batches, and a second run.\n"
        f"{done.stdout}"
    )


def _run_until_killed(command: tuple[str, ...], folder: Path, count: int) -> int:
    """Start the pipeline, kill it when it has some batches, and return how many."""
    table = folder / "table"
    log = folder / "first-run.txt"
    with log.open("w") as lines:
        process = subprocess.Popen((*command, str(count)), stdout=lines, stderr=lines)
        limit = time.monotonic() + _PATIENCE_S
        while len(list(table.glob("*.parquet"))) < KILLED_AFTER:
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < limit, "the pipeline wrote no batch"
            time.sleep(_LOOK_AGAIN_S)
        process.send_signal(signal.SIGKILL)
        process.wait()
    return len(list(table.glob("*.parquet")))


def run(spark: "SparkSession", folder: Path, address: str, *, count: int) -> None:
    """Run the pipeline until it has read everything, and print the proof."""
    from cordwood.spark import jobs  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.pipeline import parse_pipeline, run_pipeline  # noqa: PLC0415  # pyspark: 0.5 s

    table = str(folder / "table")
    pipeline = parse_pipeline(
        {
            "name": "orders",
            "checkpoint": str(folder / "checkpoint"),
            "source": {
                "kafka.bootstrap.servers": address,
                "subscribe": TOPIC,
                "maxOffsetsPerTrigger": str(count // BATCHES),
            },
            "transform": [{"decode": "json", "columns": "cents long"}, {"sql": STEP}],
            "sink": {"format": "parquet", "to": table},
        }
    )
    print(run_pipeline(spark, pipeline))
    source = {"kafka.bootstrap.servers": address, "subscribe": TOPIC}
    print(jobs.audit(spark, table, options={**source, "format": "parquet"}))


def main() -> None:
    """Run the pipeline in this process: folder, address and number of records are arguments."""
    from cordwood.spark.runtime.session import session  # noqa: PLC0415  # pyspark: 0.5 s

    folder, address, count = sys.argv[1:]
    with session("cordwood pipeline demo", conf={"spark.sql.shuffle.partitions": "2"}) as spark:
        run(spark, Path(folder), address, count=int(count))


if __name__ == "__main__":
    main()

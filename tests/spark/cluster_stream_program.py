"""A program of streams on a cluster: source, exactly-once sink, and a pipeline that loses a worker.

    cluster_stream_program.py FOLDER BROKER

The first task of the pipeline kills its executor and the worker process above it by SIGKILL. FOLDER
gets the checkpoints, the table and the mark of the kill, and stdout the numbers as JSON.
"""

import json
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

import cordwood.spark
from cordwood.spark.pipeline import parse_pipeline, run_pipeline

#: A step of a pipeline in a file, as users write it; it is sent to tasks by value.
STEP: Final = '''
import os
import signal
from pathlib import Path

MARK = Path({mark!r})


def parent_of(process):
    """Return the parent of a process."""
    return int(Path(f"/proc/{{process}}/stat").read_text().rpartition(") ")[2].split()[1])


def lost(frame):
    """Kill the executor and the worker of the first task."""

    def lose(batches):
        for batch in batches:
            if not MARK.exists():
                MARK.touch()
                executor = parent_of(os.getppid())
                for process in (parent_of(executor), executor):
                    os.kill(process, signal.SIGKILL)
            yield batch

    return frame.mapInArrow(lose, frame.schema)
'''


def copied(spark: SparkSession, folder: Path, broker: str) -> int:
    """Copy the topic `orders` to `copies`, exactly once; return the number of batches."""
    servers = {"kafka.bootstrap.servers": broker}
    limit = {"maxOffsetsPerTrigger": "200"}
    source = {**servers, **limit, "subscribe": "orders", "startingOffsets": "earliest"}
    rows = cordwood.spark.read_stream(spark, None, columns=None, **source)
    writer = rows.select("key", "value").writeStream.format("cordwood").options(**servers)
    writer = writer.option("topic", "copies").option("checkpointLocation", str(folder / "copy"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return len(query.recentProgress)


def exported(spark: SparkSession, folder: Path, broker: str) -> int:
    """Run a pipeline from `copies` into a table; return the rows that it reads."""
    (folder / "losing.py").write_text(STEP.format(mark=str(folder / "killed")))
    source = {"kafka.bootstrap.servers": broker, "subscribe": "copies", "minPartitions": "2"}
    pipeline = parse_pipeline(
        {
            "name": "copies",
            "checkpoint": "pipeline",
            "source": {**source, "maxOffsetsPerTrigger": "200"},
            "transform": [{"function": "losing:lost"}],
            "sink": {"format": "delta", "to": "table"},
        },
        folder=str(folder),
    )
    return run_pipeline(spark, pipeline).rows


def main() -> None:
    """Print the numbers."""
    folder, broker = Path(sys.argv[1]), sys.argv[2]
    spark = SparkSession.builder.getOrCreate()
    cordwood.spark.register(spark)
    found = {"batches": copied(spark, folder, broker), "rows": exported(spark, folder, broker)}
    sys.stdout.write(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()

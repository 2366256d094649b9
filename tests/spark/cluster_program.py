"""Reads, scans and verifies logs, and says from where its executors have the package.

cluster_program.py LOGS
"""

import json
import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

import cordwood
import cordwood.spark
from cordwood.spark import jobs


def main() -> None:
    """Print what was found, as JSON."""
    (logs,) = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    cordwood.spark.register(spark)

    def places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.record_batch({"place": [cordwood.__file__]})

    found = spark.range(0, 8, 1, 8).mapInArrow(places, "place string").distinct().collect()
    frame = spark.read.format("cordwood").option("minPartitions", 8).load(logs)
    said = {
        "places": [row.place for row in found],
        "records": frame.count(),
        "scanned": cordwood.spark.scan(spark, logs).count(),
        "is_damaged": jobs.verify(spark, [logs]).is_damaged,
    }
    sys.stdout.write(json.dumps(said))
    spark.stop()


if __name__ == "__main__":
    main()

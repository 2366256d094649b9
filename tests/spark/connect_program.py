"""A program that uses the features of Cordwood over Spark Connect, and prints results as JSON.

connect_program.py FOLDER BROKER

FOLDER has `logs`, and is the working directory. The source is not registered: Spark finds it.
"""

import json
import sys
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import cordwood.spark
from tests.spark.cluster_program import Answers, answers


def found_by_spark(spark: SparkSession, folder: Path) -> Answers:
    """Return the results of Spark's own calls."""
    read = spark.read.format("cordwood")
    spark.sql(f"CREATE TABLE orders USING cordwood OPTIONS (path '{folder}/logs')")
    return {
        "loaded": read.load(f"{folder}/logs").count(),
        "selected": spark.sql("SELECT count(*) AS n FROM orders").collect()[0].n,
        "refused": _error_of(read.load("logs")),
    }


def _error_of(frame: DataFrame) -> str | None:
    """Return the error of a query, without the stack of the server."""
    try:
        frame.count()
    except PySparkException as error:
        return str(error).partition("JVM stacktrace")[0]
    return None


def relative(spark: SparkSession) -> Answers:
    """Return the results of calls with paths in the program's working directory."""
    checkpoint, streamed = (str(Path(name).absolute()) for name in ("checkpoint", "streamed"))
    stream = cordwood.spark.read_stream(spark, "logs", startingOffsets="earliest")
    writer = stream.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start(streamed)
    query.awaitTermination()
    return {
        "relative": cordwood.spark.read(spark, "logs").count(),
        "explained": cordwood.spark.explain(spark, "logs").splitlines()[0],
        "streamed": spark.read.parquet(streamed).count(),
    }


def main() -> None:
    """Print the results."""
    folder, broker = Path(sys.argv[1]), sys.argv[2]
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    found = found_by_spark(spark, folder) | relative(spark) | answers(spark, folder, broker)
    sys.stdout.write(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()

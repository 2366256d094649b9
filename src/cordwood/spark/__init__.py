"""The data source `format("cordwood")` for PySpark, its sink, scans over log bytes, and jobs.

    cordwood.spark.register(spark)
    spark.read.format("cordwood").option("subscribe", "orders").load("kafka-logs")

There is no JAR and no code in the JVM. Options and columns are those of spark-sql-kafka, so a
program changes one word, `kafka`, to use it. Only this package imports pyspark.
"""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cordwood.spark.aggregates.scan import Scan
    from cordwood.spark.stream.stream_listener import StreamListener

__all__ = ("StreamListener", "read", "read_stream", "register", "scan")


def __getattr__(name: str) -> object:
    if name == "StreamListener":
        from cordwood.spark.stream.stream_listener import StreamListener  # noqa: PLC0415  # pyspark: 0.5 s

        return StreamListener
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register(spark: "SparkSession") -> None:
    """Register `format("cordwood")` with a session, for reading and for writing."""
    from cordwood.spark.data_source import CordwoodSource  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.runtime.worker_python import use_own_python  # noqa: PLC0415  # as above

    use_own_python(spark)
    spark.dataSource.register(CordwoodSource)


def read(
    spark: "SparkSession",
    path: str | list[str] | None = None,
    *,
    columns: str | list[str] | None = None,
    **options: str,
) -> "DataFrame":
    """Return records as a DataFrame; if `columns` is given, only these are decoded.

    `path` is a log directory, a partition directory, or a list of these. `columns` is a list, or
    the text of the option. Pass options with a dot in the name as
    `**{"kafka.bootstrap.servers": ...}`.
    """
    register(spark)
    reader = spark.read.format("cordwood").options(**options)
    if columns is not None:
        reader = reader.option("columns", _joined(columns))
    return reader.load(path) if path is not None else reader.load()


def read_stream(
    spark: "SparkSession",
    path: str | list[str] | None = None,
    *,
    columns: str | list[str] | None = None,
    **options: str,
) -> "DataFrame":
    """Return records as a streaming DataFrame; arguments as in `read`, options of a stream."""
    register(spark)
    reader = spark.readStream.format("cordwood").options(**options)
    if columns is not None:
        reader = reader.option("columns", _joined(columns))
    if isinstance(path, list):
        return reader.option("paths", json.dumps(path)).load()
    return reader.load(path) if path is not None else reader.load()


def _joined(columns: str | list[str]) -> str:
    """Return columns as the option has them; a single text is not a list of letters."""
    return columns if isinstance(columns, str) else ",".join(columns)


def scan(spark: "SparkSession", path: str | list[str] | None = None, **options: str) -> "Scan":
    """Return a scan, which computes its results in the tasks that read; options as in `read`."""
    from cordwood.spark.aggregates.scan import Scan  # noqa: PLC0415  # pyarrow: 0.2 s
    from cordwood.spark.source.local_paths import parse_local_options  # noqa: PLC0415  # as above

    if path is not None:
        named = {"path": path} if isinstance(path, str) else {"paths": json.dumps(path)}
        options = {**options, **named}
    return Scan(spark, parse_local_options(options))

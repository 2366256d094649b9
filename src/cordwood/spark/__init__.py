"""The log as a DataFrame: a source and a sink for PySpark, work beside the bytes, and jobs.

    cordwood.spark.register(spark)
    spark.read.format("cordwood").option("subscribe", "orders").load("kafka-logs")

No JAR, and no code of ours in the JVM. Options and columns are those of spark-sql-kafka: whoever
comes from there changes one word. This is the one package that knows pyspark.
"""

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cordwood.spark.scanning import Scan

__all__ = ("read", "register", "scan")


def register(spark: "SparkSession") -> None:
    """Make `format("cordwood")` known to a session, for reading and for writing."""
    from cordwood.spark.source import CordwoodSource  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.workers import use_own_python  # noqa: PLC0415  # as above

    use_own_python(spark)
    spark.dataSource.register(CordwoodSource)


def read(
    spark: "SparkSession",
    path: str | list[str] | None = None,
    *,
    columns: list[str] | None = None,
    **options: str,
) -> "DataFrame":
    """Return records as a DataFrame; with `columns` no others are read or moved.

    `path` is a log directory, or a partition's, or a list of these. Options that have a dot in
    their names go in as `**{"kafka.bootstrap.servers": ...}`.
    """
    register(spark)
    reader = spark.read.format("cordwood").options(**options)
    if columns is not None:
        reader = reader.option("columns", ",".join(columns))
    return reader.load(path) if path is not None else reader.load()


def scan(spark: "SparkSession", path: str | list[str] | None = None, **options: str) -> "Scan":
    """Return what asks of records in the tasks that read them; options are those of `read`."""
    from cordwood.spark.options import parse_options  # noqa: PLC0415  # beside the next line
    from cordwood.spark.scanning import Scan  # noqa: PLC0415  # pyarrow: 0.2 s

    if path is not None:
        named = {"path": path} if isinstance(path, str) else {"paths": json.dumps(path)}
        options = {**options, **named}
    return Scan(spark, parse_options(options))

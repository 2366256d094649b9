"""The data source `format("cordwood")` for PySpark, its sink, scans over log bytes, and jobs.

    spark.read.format("cordwood").option("subscribe", "orders").load("kafka-logs")
    cordwood.spark.read(spark, "kafka-logs", subscribe="orders")

There is no JAR and no code in the JVM. Options and columns are those of spark-sql-kafka, so a
program changes one word, `kafka`, to use it. Spark finds the format by the package
`pyspark_cordwood`. Only this package and that one import pyspark.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from cordwood.spark.aggregates.scan import Scan
    from cordwood.spark.runtime.option_arguments import OptionArgument, PathArgument
    from cordwood.spark.stream.stream_listener import StreamListener

__all__ = ("StreamListener", "explain", "read", "read_stream", "register", "scan")


def __getattr__(name: str) -> object:
    if name == "StreamListener":
        from cordwood.spark.stream.stream_listener import StreamListener  # noqa: PLC0415  # pyspark: 0.5 s

        return StreamListener
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register(spark: "SparkSession") -> None:
    """Register `format("cordwood")` with a session, and let its workers run this Python.

    Spark finds the format without it if the Python of its workers has this package; see
    `docs/spark.md`. The functions of this package call it.
    """
    from cordwood.spark.registration import register_source  # noqa: PLC0415  # pyspark: 0.5 s

    register_source(spark)


def read(
    spark: "SparkSession",
    path: "PathArgument | None" = None,
    **options: "OptionArgument | None",
) -> "DataFrame":
    """Return records as a DataFrame; if `columns` is given, only these are decoded.

    `path` is a log directory, a partition directory, or a list of these. `columns` is a list, or
    the text of the option. Pass options with a dot in the name as
    `**{"kafka.bootstrap.servers": ...}`. Raise SettingError for options that cannot be used.
    """
    from cordwood.spark.runtime.option_arguments import spark_options  # noqa: PLC0415  # pyarrow: 0.2 s
    from cordwood.spark.source.local_paths import parse_local_options  # noqa: PLC0415  # as above
    from cordwood.spark.source.source_columns import selected_columns  # noqa: PLC0415  # as above

    texts = spark_options(path, options)
    selected_columns(parse_local_options(texts))  # raises here, before Spark is asked
    register(spark)
    return spark.read.format("cordwood").options(**texts).load()


def read_stream(
    spark: "SparkSession",
    path: "PathArgument | None" = None,
    **options: "OptionArgument | None",
) -> "DataFrame":
    """Return records as a streaming DataFrame; arguments as in `read`, options of a stream."""
    from cordwood.spark.runtime.option_arguments import spark_options  # noqa: PLC0415  # pyarrow: 0.2 s
    from cordwood.spark.source.source_columns import selected_columns  # noqa: PLC0415  # as above
    from cordwood.spark.stream.stream_options import parse_local_stream_options  # noqa: PLC0415  # as above

    texts = spark_options(path, options)
    selected_columns(parse_local_stream_options(texts).source)  # raises here, not at the start
    register(spark)
    return spark.readStream.format("cordwood").options(**texts).load()


def scan(
    spark: "SparkSession",
    path: "PathArgument | None" = None,
    **options: "OptionArgument | None",
) -> "Scan":
    """Return a scan, which computes its results in the tasks that read; options as in `read`."""
    from cordwood.spark.aggregates.scan import Scan  # noqa: PLC0415  # pyarrow: 0.2 s
    from cordwood.spark.runtime.option_arguments import spark_options  # noqa: PLC0415  # as above
    from cordwood.spark.source.local_paths import parse_local_options  # noqa: PLC0415  # as above

    return Scan(spark, parse_local_options(spark_options(path, options)))


def explain(
    spark: "SparkSession",
    path: "PathArgument | None" = None,
    **options: "OptionArgument | None",
) -> str:
    """Return the plan of a read: its sources, and the offsets and splits of each partition.

    Spark's own `explain()` shows the columns of a Python data source, and nothing else of it.
    Arguments as in `read`. No records are read.
    """
    return scan(spark, path, **options).explain()

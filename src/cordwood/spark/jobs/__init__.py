"""Spark jobs over log directories, topics and tables, each also a command of `cordwood spark`.

    cordwood.spark.jobs.verify(spark, "kafka-logs")
    cordwood.spark.jobs.export(spark, "kafka-logs", to="lake/orders", subscribe="orders")

A job reads and writes paths that driver and tasks share. Bad input raises a `CordwoodError`, as in
one process. This package has the public functions; the work is in modules such as `verify_job`. It
may import what `cordwood.spark` may.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from cordwood.spark.runtime.option_arguments import (
    FolderArgument,
    OptionArgument,
    PathArgument,
    job_options,
    path_list,
    spark_options,
)
from cordwood.spark.runtime.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.jobs.compaction.compact_job import Compaction
    from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder
    from cordwood.spark.jobs.table_audit.audit_report import Audit
    from cordwood.spark.jobs.table_export.export_job import Export
    from cordwood.spark.jobs.topic_replay.replay_job import ReplayReport
    from cordwood.workbench.compact import CompactReport
    from cordwood.workbench.convert.convert import ConvertReport
    from cordwood.workbench.verify.findings import Verification

#: Options of a source or of a job, by name.
Options: TypeAlias = Mapping[str, OptionArgument | None]

__all__ = ("NO_PROGRESS", "Progress", "audit", "compact", "convert", "export", "replay", "verify")


def verify(
    spark: "SparkSession",
    paths: PathArgument,
    *,
    config: Mapping[str, str] | None = None,
    broker_config: str | None = None,
    progress: Progress = NO_PROGRESS,
) -> "Verification":
    """Verify log directories, partitions and segment files; see `cordwood log verify`.

    `config` has topic settings and `broker_config` the path of a broker's configuration. They
    decide which topics are compacted if the log directory has no metadata.
    """
    from cordwood.spark.jobs import verify_job  # noqa: PLC0415  # pyspark: 0.5 s

    settings = verify_job.VerifySettings(config=dict(config or {}), broker_config=broker_config)
    return verify_job.verify_paths(spark, path_list(paths), settings=settings, progress=progress)


def convert(  # noqa: PLR0913  # tidy: allow[parameters] keyword arguments of a public function
    spark: "SparkSession",
    paths: PathArgument,
    *,
    out: str,
    message_format: str = "v2",
    codec: str | None = None,
    level: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> "ConvertReport":
    """Write partitions and log directories into `out`, in another message format or codec.

    Without a codec each batch keeps its own; `level` is the codec's. The logs appear in `out` when
    all of them are complete. To resume an interrupted conversion, run it again.
    """
    from cordwood.spark.jobs import convert_job  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.workbench.convert.batch_converter import ConvertOptions  # noqa: PLC0415  # as above

    options = ConvertOptions.from_names(message_format, codec, level=level)
    return convert_job.convert_paths(
        spark, path_list(paths), out=out, options=options, progress=progress
    )


def compact(  # noqa: PLR0913  # tidy: allow[parameters] keyword arguments of a public function
    spark: "SparkSession",
    paths: PathArgument,
    *,
    order: "CompactJobOrder | None" = None,
    config: Mapping[str, str] | None = None,
    broker_config: str | None = None,
    progress: Progress = NO_PROGRESS,
    on_report: "Callable[[CompactReport], object] | None" = None,
) -> "Compaction":
    """Compact partitions that no broker uses, to the same bytes as `cordwood compact`.

    In a log directory, the partitions of compacted topics are compacted. `config` and
    `broker_config` are as in `verify`. `on_report` is called with the report of each finished log.
    To resume a killed job, run it again: finished logs stay finished, other logs are unchanged.
    """
    from cordwood.core.ports import Ports  # noqa: PLC0415  # as below
    from cordwood.core.system import SystemClock, SystemFiles, SystemRandom  # noqa: PLC0415  # as below
    from cordwood.spark.jobs.compaction import compact_job  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder  # noqa: PLC0415  # as above
    from cordwood.workbench.compact import find_compact_targets  # noqa: PLC0415  # as above
    from cordwood.workbench.topic_settings_lookup import SettingsFinder  # noqa: PLC0415  # as above

    files = SystemFiles()
    settings = SettingsFinder(files, given=config or {}, broker_config=broker_config)
    places = find_compact_targets(files, path_list(paths), settings=settings)
    return compact_job.compact_partitions(
        spark,
        places,
        ports=Ports(files=files, clock=SystemClock(), random=SystemRandom()),
        order=order or CompactJobOrder(),
        progress=progress,
        on_report=on_report,
    )


def export(  # tidy: allow[parameters] keyword arguments of a public function
    spark: "SparkSession",
    path: PathArgument | Options | None = None,
    *,
    to: FolderArgument | None = None,
    progress: Progress = NO_PROGRESS,
    options: Options | None = None,
    **others: OptionArgument | None,
) -> "Export":
    """Append the records of a log after the end of a table, each offset once.

    `to` is the table's folder. Other arguments are those of `cordwood.spark.read`, and the options
    of the export (`spark.jobs.table_export.export_options`). Raise TableError if the table would
    have an offset twice or lack one. To resume a killed export, run it again with the same options.

    The form `export(spark, to, options=...)` of earlier versions works too.
    """
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # as the ones below
    from cordwood.spark.jobs.table_export import export_job  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.jobs.table_export.export_options import parse_export_options  # noqa: PLC0415  # as above

    given = job_options(path, others, options=options, place=("to", to))
    parsed = parse_export_options(given)
    return export_job.export_log(spark, parsed, files=SystemFiles(), progress=progress)


def audit(  # tidy: allow[parameters] keyword arguments of a public function
    spark: "SparkSession",
    path: PathArgument | Options | None = None,
    *,
    of: FolderArgument | None = None,
    progress: Progress = NO_PROGRESS,
    options: Options | None = None,
    **others: OptionArgument | None,
) -> "Audit":
    """Verify that a table has each offset of a log exactly once, and return the differences.

    `of` is the folder of the table, which any program may have written. Other arguments are those
    of `cordwood.spark.read`, and the options of the audit
    (`spark.jobs.table_audit.audit_options`).

    The form `audit(spark, of, options=...)` of earlier versions works too.
    """
    from cordwood.spark.jobs.table_audit import audit_job  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.jobs.table_audit.audit_options import parse_audit_options  # noqa: PLC0415  # as above

    given = job_options(path, others, options=options, place=("of", of))
    return audit_job.audit_table(spark, parse_audit_options(given), progress=progress)


def replay(  # tidy: allow[parameters] keyword arguments of a public function
    spark: "SparkSession",
    path: PathArgument | Options | None = None,
    *,
    to: Options,
    rate: int | None = None,
    state: str | None = None,
    progress: Progress = NO_PROGRESS,
    **others: OptionArgument | None,
) -> "ReplayReport":
    """Send the records of a topic to another topic, to the same partitions.

    `to` has the options of the sink, with a topic. Other arguments are those of
    `cordwood.spark.read`; instead of a path there may be a mapping with all options of the source.
    `rate` is in records per second. With a `state` file a killed replay resumes after the target's
    last record.
    """
    from cordwood.spark.jobs.topic_replay import replay_job  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.jobs.topic_replay.replay_plan import parse_replay_options  # noqa: PLC0415  # as above

    source, sink = job_options(path, others), spark_options(None, to)
    parsed = parse_replay_options(source, sink, rate=rate, state=state)
    return replay_job.replay_topic(spark, parsed, progress=progress)

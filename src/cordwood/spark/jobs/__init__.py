"""Jobs of Spark's over log directories: each is a function, and a command of `cordwood spark`.

    cordwood.spark.jobs.verify(spark, ["kafka-logs"])

Whatever a job reads and writes lies on paths that driver and tasks share. Its bad input is named by
an error of ours, as if it had run here. A job's function lives here, what it does in a module that
is named for the doing: `verifying`. May import what `cordwood.spark` may.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cordwood.spark.progress import UNSEEN, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.jobs.auditing import Audit
    from cordwood.spark.jobs.compact_order import CompactJobOrder
    from cordwood.spark.jobs.compacting import Compaction
    from cordwood.spark.jobs.exporting import Export
    from cordwood.spark.jobs.replaying import ReplayReport
    from cordwood.workbench.compact import CompactReport
    from cordwood.workbench.convert import ConvertReport
    from cordwood.workbench.findings import Verification

__all__ = ("UNSEEN", "Progress", "audit", "compact", "convert", "export", "replay", "verify")


def _listed(paths: Sequence[str]) -> Sequence[str]:
    """Return a path alone as a list of it: else each of its letters would be one."""
    return [paths] if isinstance(paths, str) else paths


def verify(
    spark: "SparkSession",
    paths: Sequence[str],
    *,
    config: Mapping[str, str] | None = None,
    broker_config: str | None = None,
    progress: Progress = UNSEEN,
) -> "Verification":
    """Verify log directories, partitions and files of segments; see `cordwood log verify`.

    `config` gives settings of the topics, `broker_config` the broker's file: they say which topics
    are compacted, where no metadata beside the logs do.
    """
    from cordwood.spark.jobs import verifying  # noqa: PLC0415  # pyspark: 0.5 s

    settings = verifying.Settings(config=dict(config or {}), broker_config=broker_config)
    return verifying.verify(spark, _listed(paths), settings=settings, progress=progress)


def convert(  # noqa: PLR0913  # tidy: allow[parameters] a name each
    spark: "SparkSession",
    paths: Sequence[str],
    *,
    out: str,
    message_format: str = "v2",
    codec: str | None = None,
    level: int | None = None,
    progress: Progress = UNSEEN,
) -> "ConvertReport":
    """Write partitions and log directories into `out`, in another message format or codec.

    Without a codec each batch keeps its own; `level` is the codec's. The logs appear in `out` when
    all of them are whole. A conversion that was stopped goes on when it is asked for again.
    """
    from cordwood.spark.jobs import converting  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.workbench.convert_batches import Wanted  # noqa: PLC0415  # as above

    wanted = Wanted.named(message_format, codec, level=level)
    return converting.convert(spark, _listed(paths), out=out, wanted=wanted, progress=progress)


def compact(  # noqa: PLR0913  # tidy: allow[parameters] what, how, by which settings, and who hears
    spark: "SparkSession",
    paths: Sequence[str],
    *,
    order: "CompactJobOrder | None" = None,
    config: Mapping[str, str] | None = None,
    broker_config: str | None = None,
    progress: Progress = UNSEEN,
    hear: "Callable[[CompactReport], object] | None" = None,
) -> "Compaction":
    """Compact partitions that no broker uses; see `cordwood compact`, whose bytes it leaves.

    Of log directories those partitions are compacted that metadata call so. `config` and
    `broker_config` as in `verify`. `hear` is told of each log when it is done. A job that was
    killed is run again: what was done stays done, and of the rest nothing has been changed.
    """
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # as below
    from cordwood.spark.jobs import compacting  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.jobs.compact_order import CompactJobOrder  # noqa: PLC0415  # as above
    from cordwood.workbench.compact import places_to_compact  # noqa: PLC0415  # as above
    from cordwood.workbench.settings_found import SettingsFinder  # noqa: PLC0415  # as above

    files = SystemFiles()
    settings = SettingsFinder(files, given=config or {}, broker_config=broker_config)
    places = places_to_compact(files, _listed(paths), settings=settings)
    ground = compacting.Ground.of(spark, progress)
    return compacting.compact(ground, places, order=order or CompactJobOrder(), hear=hear)


def export(
    spark: "SparkSession", to: str, *, options: Mapping[str, str], progress: Progress = UNSEEN
) -> "Export":
    """Add to a table what a log has behind the table's end, each offset once.

    `to` is the table's folder; `options` say what table it is (`spark.jobs.export_options`) and
    what is read (`spark.options`). TableError is raised where the table would have an offset twice
    or lack one. An export that was killed is made again with the same options.
    """
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # as the ones below
    from cordwood.spark.jobs import exporting  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.jobs.export_options import parse_export  # noqa: PLC0415  # as above

    order = parse_export({**options, "to": to})
    return exporting.export(spark, order, files=SystemFiles(), progress=progress)


def audit(
    spark: "SparkSession", of: str, *, options: Mapping[str, str], progress: Progress = UNSEEN
) -> "Audit":
    """Prove that a table has each offset of a log exactly once, and tell which it has not.

    `of` is the table's folder, whoever made it; `options` say what its columns are called
    (`spark.jobs.audit_options`), and where the log is (`spark.options`).
    """
    from cordwood.spark.jobs import auditing  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.jobs.audit_options import parse_audit  # noqa: PLC0415  # as above

    return auditing.audit(spark, parse_audit({**options, "of": of}), progress=progress)


def replay(  # tidy: allow[parameters] a name each
    spark: "SparkSession",
    options: Mapping[str, str],
    *,
    to: Mapping[str, str],
    rate: int | None = None,
    state: str | None = None,
    progress: Progress = UNSEEN,
) -> "ReplayReport":
    """Send what a topic has once more, to another one: the same records in the same partitions.

    `options` are the source's, `to` the sink's, with a topic; `rate` is in records a second. With a
    file for its `state` a replay that was killed goes on behind what the target has of it.
    """
    from cordwood.spark.jobs import replaying  # noqa: PLC0415  # pyspark: 0.5 s
    from cordwood.spark.jobs.replay_plan import parse_replay  # noqa: PLC0415  # as above

    order = parse_replay(options, to, rate=rate, state=state)
    return replaying.replay(spark, order, progress=progress)

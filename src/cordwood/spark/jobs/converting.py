"""Converts partitions into another log directory, a segment a task.

    driver   holds the new log directory, says which segments are left, gives partitions their place
    task     `convert_segment`, unless somebody has done it before

What the driver does and what a task does are `cordwood.workbench.convert`'s, so the bytes are too.
"""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import SparkSession

from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.spark.progress import UNSEEN, Progress
from cordwood.spark.running import Tell, run_tasks
from cordwood.workbench.convert import ConvertReport, begun
from cordwood.workbench.convert_batches import Wanted
from cordwood.workbench.convert_segment import ConvertTools, SegmentTask, convert_segment


def convert(
    spark: SparkSession,
    paths: Sequence[str],
    *,
    out: str,
    wanted: Wanted,
    files: SystemFiles | None = None,
    progress: Progress = UNSEEN,
) -> ConvertReport:
    """Convert partitions and log directories into the log directory `out`, or go on with that."""
    files = files or SystemFiles()
    with begun(files, paths, out=out, wanted=wanted) as conversion:
        left = conversion.left
        progress.begin("convert", sum(task.size for task in left))
        work = partial(convert_task, files=files, wanted=wanted)
        run_tasks(spark, left, work=work, progress=progress)
        return conversion.finish()


def convert_task(task: SegmentTask, tell: Tell, *, files: SystemFiles, wanted: Wanted) -> None:
    """Convert one segment."""
    convert_segment(ConvertTools(files, SystemRandom()), task, wanted=wanted, tell=tell)

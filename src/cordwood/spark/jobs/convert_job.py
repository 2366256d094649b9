"""The job `convert`: conversion of partitions into another log directory, one segment per task.

    driver   locks the new log directory, lists the remaining segments, moves finished partitions
    task     `convert_segment`, unless an earlier attempt has finished it

Both use `cordwood.workbench.convert`, so the bytes are those of `cordwood log convert`.
"""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import SparkSession

from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.spark.runtime.progress import UNSEEN, Progress
from cordwood.spark.runtime.task_runner import AdvanceProgress, run_tasks
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.convert import ConvertReport, open_conversion
from cordwood.workbench.convert.segment_converter import SegmentTask, convert_segment


def convert_paths(
    spark: SparkSession,
    paths: Sequence[str],
    *,
    out: str,
    options: ConvertOptions,
    files: SystemFiles | None = None,
    progress: Progress = UNSEEN,
) -> ConvertReport:
    """Convert partitions and log directories into the log directory `out`, or resume this."""
    files = files or SystemFiles()
    with open_conversion(files, paths, out=out, options=options) as conversion:
        tasks = conversion.remaining
        progress.begin("convert", sum(task.size for task in tasks))
        work = partial(convert_task, files=files, options=options)
        run_tasks(spark, tasks, work=work, progress=progress)
        return conversion.finish()


def convert_task(
    task: SegmentTask, advance: AdvanceProgress, *, files: SystemFiles, options: ConvertOptions
) -> None:
    """Convert one segment."""
    convert_segment(files, task, options=options, random=SystemRandom(), on_bytes=advance)

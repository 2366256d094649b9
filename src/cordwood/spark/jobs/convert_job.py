"""The job `convert`: conversion of partitions into another log directory, some segments per task.

    driver   locks the new log directory, lists the remaining segments, moves finished partitions
    task     `convert_segments`: one large segment, or small ones of together `TASK_BYTES`

Both use `cordwood.workbench.convert`, so the bytes are those of one process.
"""

from collections.abc import Sequence
from functools import partial
from typing import Final

from pyspark.sql import SparkSession

from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.spark.jobs.task_packing import pack_tasks, total_bytes
from cordwood.spark.runtime.progress import NO_PROGRESS, Progress
from cordwood.spark.runtime.task_runner import AdvanceProgress, run_tasks
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.convert import ConvertReport, open_conversion
from cordwood.workbench.convert.segment_converter import SegmentTask, convert_segments

#: Most bytes of small segments in one task.
TASK_BYTES: Final = 256 << 20


def convert_paths(
    spark: SparkSession,
    paths: Sequence[str],
    *,
    out: str,
    options: ConvertOptions,
    files: SystemFiles | None = None,
    progress: Progress = NO_PROGRESS,
) -> ConvertReport:
    """Convert partitions and log directories into the log directory `out`, or resume this."""
    files = files or SystemFiles()
    with open_conversion(files, paths, out=out, options=options) as conversion:
        tasks = conversion.remaining
        progress.begin("convert", total_bytes(tasks))
        work = partial(convert_task, files=files, options=options)
        run_tasks(spark, pack_tasks(tasks, TASK_BYTES), work=work, progress=progress)
        return conversion.finish()


def convert_task(
    tasks: Sequence[SegmentTask],
    advance: AdvanceProgress,
    *,
    files: SystemFiles,
    options: ConvertOptions,
) -> None:
    """Convert the segments of one task."""
    convert_segments(files, tasks, options=options, random=SystemRandom(), on_bytes=advance)

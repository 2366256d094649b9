"""The job `replay`: sends the records of a topic to another topic, one partition per task.

    driver   plans the read once; looks up the end of each target partition
    task     rows after that end ──► as fast as the rate allows ──► the same partition of the target
             with a state file it also locks the partition, and looks up the target's end itself

Keys, values, headers, timestamps and partitions are kept. An idempotent producer sends, and each
partition has one task, so the target always has a prefix of the records to send. With a state file
a killed replay resumes after that prefix, and each record is in the target exactly once, unless
another producer writes to those partitions. The last record of the target is compared with the
expected one, and records of another producer are rejected. A task that outlives its driver is not
another producer: the next task waits for its lock, and resumes after it. Without a state file each
run starts from the beginning: at least once.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from threading import Event
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import SparkSession

from cordwood.client.blocking import Producer
from cordwood.core.errors import InvalidRecordError, LogDirectoryError
from cordwood.core.ports import FileLock, Files
from cordwood.core.system import SystemClock, SystemFiles
from cordwood.records.decoder import ReadRequest, Selection
from cordwood.records.kernels import decoder
from cordwood.spark.jobs.topic_replay.replay_plan import (
    ReplayOptions,
    ReplayTask,
    open_target,
    plan_tasks,
)
from cordwood.spark.runtime.progress import UNSEEN, Progress
from cordwood.spark.runtime.task_runner import AdvanceProgress, run_tasks
from cordwood.spark.sink.row_producer import RowProducer
from cordwood.spark.source import source_columns
from cordwood.spark.source.broker_fetch import fetch_range
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.split_reader import read_split
from cordwood.workbench.file_window import Throttle

_COMPARED: Final = ("key", "value")
#: Rows sent at a time, so that the rate holds within each second.
_ROWS: Final = 1024
#: Attempts to lock a partition: a task ends soon after its driver has died.
_LOCK_ATTEMPTS: Final = 600
_LOCK_RETRY_S: Final = 0.1

#: Waits for a number of seconds.
Wait = Callable[[float], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """The records sent by this run, and by earlier runs."""

    topic: str
    partitions: int
    sent: int
    sent_before: int

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        before = f", {self.sent_before:,} sent before" if self.sent_before else ""
        return f"{self.topic}: {self.sent:,} records sent to {self.partitions} partitions{before}"


def pause(seconds: float) -> None:
    """Wait."""
    Event().wait(seconds)


def replay_topic(
    spark: SparkSession,
    options: ReplayOptions,
    *,
    files: SystemFiles | None = None,
    wait: Wait = pause,
    progress: Progress = UNSEEN,
) -> ReplayReport:
    """Send the records that the target does not have yet."""
    files = files or SystemFiles()
    tasks = plan_tasks(options, files)
    progress.begin("replay", sum(task.size for task in tasks))
    at_once = max(1, min(len(tasks), spark.sparkContext.defaultParallelism))
    share = None if options.rate is None else max(1, options.rate // at_once)
    work = partial(replay_partition, options=replace(options, rate=share), files=files, wait=wait)
    sent = run_tasks(spark, tasks, work=work, progress=progress)
    return ReplayReport(
        topic=options.topic,
        partitions=len(tasks),
        sent=sum(each.records for each in sent),
        sent_before=sum(each.before for each in sent),
    )


class PartitionReplay(NamedTuple):
    """The records that a task has sent, and those sent before."""

    records: int
    before: int


def replay_partition(
    task: ReplayTask, advance: AdvanceProgress, *, options: ReplayOptions, files: Files, wait: Wait
) -> PartitionReplay:
    """Send the remaining records of one partition; `options.rate` is this partition's share."""
    clock = SystemClock()
    throttle = None if options.rate is None else Throttle(options.rate, clock, wait)
    with (
        lock_partition(task, options, files=files) as own,
        Producer[bytes, bytes].from_config(options.sink.producer) as producer,
    ):
        sink = RowProducer(producer, options.sink, clock=clock)
        for part in _remaining(own, options, advance):
            if throttle is not None:
                throttle(part.num_rows)
            sink.send(part)
        sink.finish()
        return PartitionReplay(sink.count, own.done)


@contextmanager
def lock_partition(
    task: ReplayTask, options: ReplayOptions, *, files: Files, wait: Wait = pause
) -> Iterator[ReplayTask]:
    """Yield a task with its current progress, while no other task sends the same partition.

    Raise LogDirectoryError if another task keeps the lock. Without a state file there is no lock.
    """
    if options.state is None:
        yield task
        return
    lock = _lock(files, f"{options.state}.{task.target.partition}", wait)
    try:
        with open_target(options.sink) as consumer:
            (end,) = consumer.end_offsets([task.target]).values()
        yield task._replace(done=end - task.base)
    finally:
        lock.release()


def _lock(files: Files, path: str, wait: Wait) -> FileLock:
    for _ in range(_LOCK_ATTEMPTS):
        try:
            return files.lock(path)
        except BlockingIOError:
            wait(_LOCK_RETRY_S)
    raise LogDirectoryError(
        "locked by another task, which sends the same partition",
        path=path,
        remedy="wait until that replay has ended, or stop its tasks",
    )


def _remaining(
    task: ReplayTask, options: ReplayOptions, advance: AdvanceProgress
) -> Iterator[pa.RecordBatch]:
    """Yield the rows that the target does not have, in small batches."""
    done = task.done
    for split in task.splits:
        for batch in read_split(split, source_columns.ALL_COLUMNS, options=options.source):
            if 0 < done <= batch.num_rows:
                _check_last_record(task, batch.slice(done - 1, 1), options)
            passed = min(done, batch.num_rows)
            done -= passed
            for first in range(passed, batch.num_rows, _ROWS):
                yield batch.slice(first, _ROWS)
        advance(split.size)
    if done:
        raise _foreign_record(task, f"{done} records more than the replay sends")


def _check_last_record(task: ReplayTask, expected: pa.RecordBatch, options: ReplayOptions) -> None:
    """Reject a target whose last record is not of this replay."""
    at = task.base + task.done - 1
    request = ReadRequest(columns=_COMPARED, selection=Selection(first_offset=at, last_offset=at))
    with open_target(options.sink) as consumer:
        last = OffsetRange(task.target, at, at + 1)
        found = list(fetch_range(consumer, last, decoder=decoder(), request=request))
    wanted = expected.select(list(_COMPARED)).to_pylist()
    if [row for batch in found for row in batch.to_pylist()] != wanted:
        raise _foreign_record(task, f"another record at offset {at} than this replay has sent")


def _foreign_record(task: ReplayTask, found: str) -> InvalidRecordError:
    return InvalidRecordError(
        f"{task.target}: {found}, so another producer writes to it; replay into a topic of its own"
    )

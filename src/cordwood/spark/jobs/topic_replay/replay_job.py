"""The job `replay`: sends the records of a topic to another topic, one partition per task.

    driver   plans the read once; looks up the end of each target partition
    task     rows after that end ──► as fast as the rate allows ──► the same partition of the target
             with a state file it also locks the partition, and looks up the target's end itself

Keys, values, headers, timestamps and partitions are kept. An idempotent producer sends, and each
partition has one task, so the target always has a prefix of the records to send. With a state file
a killed replay resumes after that prefix, and each record is in the target exactly once, unless
another producer writes to those partitions. The offsets of sent records are stored before they are
sent (`sent_offsets`), so compaction of the source does not move the point where a replay resumes.
The last record of the target is compared with that of the source, and records of another producer
are rejected. A task that outlives its driver is not another producer: the next task waits for its
lock, and resumes after it. Without a state file each run starts from the beginning: at least once.
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
from cordwood.core.counts import counted
from cordwood.core.errors import InvalidRecordError, LogDirectoryError
from cordwood.core.ports import FileLock, Files
from cordwood.core.system import SystemClock, SystemFiles
from cordwood.records.decoder import ReadRequest, Selection
from cordwood.records.kernels import decoder
from cordwood.spark.jobs.tables.log_offsets import offset_values
from cordwood.spark.jobs.tables.offset_spans import find_spans
from cordwood.spark.jobs.topic_replay.replay_plan import (
    ReplayOptions,
    ReplayTask,
    open_target,
    plan_tasks,
)
from cordwood.spark.jobs.topic_replay.sent_offsets import SentOffsets, SentOffsetsFile
from cordwood.spark.runtime.progress import NO_PROGRESS, Progress
from cordwood.spark.runtime.task_runner import AdvanceProgress, default_parallelism, run_tasks
from cordwood.spark.sink.row_producer import RowProducer
from cordwood.spark.source import source_columns
from cordwood.spark.source.broker_fetch import fetch_range
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.source.split_reader import read_split
from cordwood.spark.source.splits import Split
from cordwood.workbench.file_window import Throttle

_COMPARED: Final = ("key", "value", "timestamp", "timestampType", "headers")
#: The timestamp types of records without a time, and of those with the time of the append.
_NO_TIME: Final = -1
_APPEND_TIME: Final = 1
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
        sent = counted(self.sent, "record")
        return f"{self.topic}: {sent} sent to {counted(self.partitions, 'partition')}{before}"


def pause(seconds: float) -> None:
    """Wait."""
    Event().wait(seconds)


def replay_topic(
    spark: SparkSession,
    options: ReplayOptions,
    *,
    files: SystemFiles | None = None,
    wait: Wait = pause,
    progress: Progress = NO_PROGRESS,
) -> ReplayReport:
    """Send the records that the target does not have yet."""
    files = files or SystemFiles()
    tasks = plan_tasks(options, files)
    progress.begin("replay", sum(task.size for task in tasks))
    at_once = max(1, min(len(tasks), default_parallelism(spark)))
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
        sent, start = _progress(own, options, files)
        sink = RowProducer(producer, options.sink, clock=clock)
        for batch in _rows_from(own, start, options, advance):
            if sent is not None:
                sink.finish()
                sent.write(find_spans(offset_values(batch.column("offset"))).pairs())
            _send(batch, sink, throttle=throttle)
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


def _progress(
    task: ReplayTask, options: ReplayOptions, files: Files
) -> tuple[SentOffsetsFile | None, int]:
    """Return the file of sent offsets, None without a state, and the offset to begin at."""
    if options.state is None:
        return None, 0
    file = SentOffsetsFile(files, f"{options.state}.{task.target.partition}.sent")
    sent = file.read()
    if sent is not None and task.done < sent.before:
        raise LogDirectoryError(
            f"{task.target} has {task.done} records, and brokers had acknowledged {sent.before}",
            path=file.path,
            remedy="the target was truncated: replay into another topic, with another state file",
        )
    if not task.done:
        file.begin(0, None)
        return file, 0
    if sent is None:
        raise LogDirectoryError(
            f"the offsets of the {task.done} records in {task.target} are not known: they cannot "
            "be counted in the source, which compaction may have changed since",
            path=file.path,
            remedy="replay into another topic, with another state file",
        )
    if task.done > sent.end:
        raise _foreign_record(task, f"{task.done - sent.end} records more than the replay sent")
    last = sent.offset_of(task.done - 1)
    _check_last_record(task, sent, last, options)
    file.begin(task.done, last)
    return file, last + 1


def _send(batch: pa.RecordBatch, sink: RowProducer, *, throttle: Throttle | None) -> None:
    for first in range(0, batch.num_rows, _ROWS):
        part = batch.slice(first, _ROWS)
        if throttle is not None:
            throttle(part.num_rows)
        sink.send(part)


def _rows_from(
    task: ReplayTask, start: int, options: ReplayOptions, advance: AdvanceProgress
) -> Iterator[pa.RecordBatch]:
    """Yield the rows from an offset on."""
    for split in task.splits:
        yield from _rows_between(split, start, split.range.end, options)
        advance(split.size)


def _rows_between(
    split: Split, start: int, end: int, options: ReplayOptions
) -> Iterator[pa.RecordBatch]:
    wanted = split.range._replace(
        start=max(start, split.range.start), end=min(end, split.range.end)
    )
    if wanted.start < wanted.end:
        own = split._replace(range=wanted)
        yield from read_split(own, source_columns.ALL_COLUMNS, options=options.source)


def _check_last_record(
    task: ReplayTask, sent: SentOffsets, last: int, options: ReplayOptions
) -> None:
    """Reject a target whose last record is not of this replay.

    If the source does not have this record any more, the last one that it has is compared.
    """
    expected = _last_row(task, last, last, options)
    if expected is None:
        expected = _last_row(task, sent.spans[0][0], last, options)
    if expected is None:
        raise LogDirectoryError(
            f"compaction or retention has removed the records that were sent last to {task.target}"
            f" (offsets {sent.spans[0][0]} to {last} of the source), so they cannot be compared",
            path=str(options.state),
            remedy="replay into another topic, with another state file",
        )
    number = sent.number_of(expected.column("offset")[0].as_py())
    if number is None:
        raise LogDirectoryError(
            f"the source has other records than those that were sent to {task.target}",
            path=str(options.state),
            remedy="replay into another topic, with another state file",
        )
    at = task.base + number
    (wanted,) = expected.select(list(_COMPARED)).to_pylist()
    if [_compared(row, wanted) for row in _target_rows(task, at, options)] != [wanted]:
        raise _foreign_record(task, f"another record at offset {at} than this replay has sent")


def _target_rows(task: ReplayTask, at: int, options: ReplayOptions) -> Iterator[dict[str, object]]:
    """Yield the row of the target at an offset, with the types of the source's rows."""
    request = ReadRequest(
        columns=source_columns.record_columns(_COMPARED),
        selection=Selection(first_offset=at, last_offset=at),
    )
    schema, only = source_columns.arrow_schema(_COMPARED), OffsetRange(task.target, at, at + 1)
    with open_target(options.sink) as consumer:
        for batch in fetch_range(consumer, only, decoder=decoder(), request=request):
            yield from source_columns.rows_of(batch, task.target, schema=schema).to_pylist()


def _compared(found: dict[str, object], wanted: dict[str, object]) -> dict[str, object]:
    """Return a row of the target as it is compared: without a time that is not the source's."""
    is_timed = wanted["timestampType"] != _NO_TIME and found["timestampType"] != _APPEND_TIME
    kept = {"timestampType": wanted["timestampType"]}
    return {**found, **kept, **({} if is_timed else {"timestamp": wanted["timestamp"]})}


def _last_row(
    task: ReplayTask, first: int, last: int, options: ReplayOptions
) -> pa.RecordBatch | None:
    """Return the last row of a range of offsets, None without one."""
    found = None
    for split in task.splits:
        for batch in _rows_between(split, first, last + 1, options):
            if batch.num_rows:
                found = batch.slice(batch.num_rows - 1, 1)
    return found


def _foreign_record(task: ReplayTask, found: str) -> InvalidRecordError:
    return InvalidRecordError(
        f"{task.target}: {found}, so another producer writes to it; replay into a topic of its own"
    )

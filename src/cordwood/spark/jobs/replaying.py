"""Sends what a topic has once more, to a topic that is there: a partition a task, in its order.

    driver   what is read, fixed once; how far each partition of the target has come
    task     rows behind that ──► as fast as is allowed ──► the same partition of the target
             with a state it has a lock beside that, and looks for itself how far the target is

Keys, values, headers, times and partitions stay. An idempotent producer sends, and of a partition
one task: so the target always has the beginning of what is to come there. With a state a replay
that was killed goes on behind that, and each record is there once, if nobody else writes to those
partitions meanwhile: the last record there is held against the one that should be, and a stranger
is refused. A task that outlives its driver is no stranger: the next one waits until it has ended,
and goes on behind that. Without a state it begins at its beginning each time: at least once.
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
from cordwood.records.chunk import Request, Selection
from cordwood.records.kernels import decoder
from cordwood.spark import rows
from cordwood.spark.fetching import fetch_range
from cordwood.spark.holdings import Range
from cordwood.spark.jobs.replay_plan import ReplayOrder, ReplayTask, target_of, tasks_of
from cordwood.spark.producing import RowProducer
from cordwood.spark.progress import UNSEEN, Progress
from cordwood.spark.reading import read_split
from cordwood.spark.running import Tell, run_tasks
from cordwood.workbench.windows import Throttle

_COMPARED: Final = ("key", "value")
#: So many rows are sent at once, that a rate is kept from second to second.
_ROWS: Final = 1024
#: A task whose driver has died ends soon after it; so often, and so long, another waits for that.
_TRIES: Final = 600
_BETWEEN_TRIES_S: Final = 0.1

#: Waits so many seconds.
Wait = Callable[[float], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """What was sent now, and what had been before."""

    topic: str
    partitions: int
    sent: int
    sent_before: int

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))

    def __str__(self) -> str:
        before = f", {self.sent_before:,} before" if self.sent_before else ""
        return f"{self.topic}: {self.sent:,} records into {self.partitions} partitions{before}"


def pause(seconds: float) -> None:
    """Let time pass."""
    Event().wait(seconds)


def replay(
    spark: SparkSession,
    order: ReplayOrder,
    *,
    files: SystemFiles | None = None,
    wait: Wait = pause,
    progress: Progress = UNSEEN,
) -> ReplayReport:
    """Send what is asked for, as far as the target does not have it."""
    files = files or SystemFiles()
    tasks = tasks_of(order, files)
    progress.begin("replay", sum(task.size for task in tasks))
    at_once = max(1, min(len(tasks), spark.sparkContext.defaultParallelism))
    share = None if order.rate is None else max(1, order.rate // at_once)
    work = partial(replay_partition, order=replace(order, rate=share), files=files, wait=wait)
    sent = run_tasks(spark, tasks, work=work, progress=progress)
    return ReplayReport(
        topic=order.topic,
        partitions=len(tasks),
        sent=sum(each.records for each in sent),
        sent_before=sum(each.before for each in sent),
    )


class Sent(NamedTuple):
    """How many records a task has sent, and how many had been there before."""

    records: int
    before: int


def replay_partition(
    task: ReplayTask, tell: Tell, *, order: ReplayOrder, files: Files, wait: Wait
) -> Sent:
    """Send what is left of one partition.

    The order's rate is this partition's share of it.
    """
    clock = SystemClock()
    throttle = None if order.rate is None else Throttle(order.rate, clock, wait)
    with (
        alone(task, order, files=files) as own,
        Producer[bytes, bytes].from_config(order.sink.producer) as producer,
    ):
        sink = RowProducer(producer, order.sink, clock=clock)
        for part in _left(own, order, tell):
            if throttle is not None:
                throttle(part.num_rows)
            sink.send(part)
        sink.finish()
        return Sent(sink.count, own.done)


@contextmanager
def alone(
    task: ReplayTask, order: ReplayOrder, *, files: Files, wait: Wait = pause
) -> Iterator[ReplayTask]:
    """Yield a task as far as it is done, while no other of the same state sends the same.

    LogDirectoryError: one still does. Without a state nobody is waited for.
    """
    if order.state is None:
        yield task
        return
    lock = _locked(files, f"{order.state}.{task.target.partition}", wait)
    try:
        with target_of(order.sink) as consumer:
            (end,) = consumer.end_offsets([task.target]).values()
        yield task._replace(done=end - task.base)
    finally:
        lock.release()


def _locked(files: Files, path: str, wait: Wait) -> FileLock:
    for _ in range(_TRIES):
        try:
            return files.lock(path)
        except BlockingIOError:
            wait(_BETWEEN_TRIES_S)
    raise LogDirectoryError(
        "is locked: another task sends the same partition",
        path=path,
        remedy="wait until that replay has ended, or end what is left of it",
    )


def _left(task: ReplayTask, order: ReplayOrder, tell: Tell) -> Iterator[pa.RecordBatch]:
    """Yield the rows that the target does not have, few at a time."""
    done = task.done
    for split in task.splits:
        for batch in read_split(split, rows.EVERY, options=order.source):
            if 0 < done <= batch.num_rows:
                _ensure_reached(task, batch.slice(done - 1, 1), order)
            passed = min(done, batch.num_rows)
            done -= passed
            for first in range(passed, batch.num_rows, _ROWS):
                yield batch.slice(first, _ROWS)
        tell(split.size)
    if done:
        raise _stranger(task, f"{done} records more than there are to be sent")


def _ensure_reached(task: ReplayTask, expected: pa.RecordBatch, order: ReplayOrder) -> None:
    """Refuse to go on behind a record that is not of this replay."""
    at = task.base + task.done - 1
    request = Request(columns=_COMPARED, selection=Selection(first_offset=at, last_offset=at))
    with target_of(order.sink) as consumer:
        there = Range(task.target, at, at + 1)
        found = list(fetch_range(consumer, there, decoder=decoder(), request=request))
    wanted = expected.select(list(_COMPARED)).to_pylist()
    if [row for batch in found for row in batch.to_pylist()] != wanted:
        raise _stranger(task, f"at offset {at} another record than this replay has sent")


def _stranger(task: ReplayTask, found: str) -> InvalidRecordError:
    return InvalidRecordError(
        f"{task.target} has {found}: somebody else writes to it; replay into a topic of its own"
    )

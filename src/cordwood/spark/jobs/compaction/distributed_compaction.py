"""Cleaning passes in Spark tasks: one task for a whole log, or several with a shuffle of keys.

    part of a log ──► last record per key ──► hash bucket ──► retained records ──► group
    collect           keys, by bucket         settle          by group             rewrite

The shuffle carries packed bytes: the key, its hash and the record number of each last record of a
part, then the numbers of the retained records. No record becomes a Spark row.

Tasks write into attempt directories outside of the log (`attempt_directories`), so a retried or
slow task does not conflict with another one. An error is a result that later phases pass on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningJob, CleaningResult
from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.kernels import engine
from cordwood.compaction.passes.attempt_directories import (
    TOKEN_BYTES,
    create_attempt,
    remove_attempt,
)
from cordwood.compaction.passes.distributed_pass import (
    DistributedPass,
    combine_groups,
    resolve_bucket,
)
from cordwood.compaction.passes.mark_windows import SurveyedSegment
from cordwood.compaction.passes.pass_parts import (
    GroupSurvivors,
    PartKeys,
    PassPart,
    WrittenGroup,
    count_buckets,
    split_into_parts,
)
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files
from cordwood.core.system import SystemRandom
from cordwood.spark.runtime.message_rows import ROW, message_row, read_messages
from cordwood.spark.runtime.task_runner import AdvanceProgress, collect_messages, run_tasks
from cordwood.spark.runtime.worker_preparation import prepare_worker

T = TypeVar("T")
#: Record batches from Spark, and to Spark.
_Rows: TypeAlias = Iterator[pa.RecordBatch]
#: A row: the number of a bucket or group, and its message.
_Row: TypeAlias = tuple[int, object]


class CompactionTask(NamedTuple):
    """A cleaning pass and the bytes of log that it covers."""

    job: CleaningJob
    size: int


class PassOutput(NamedTuple):
    """The result of a pass, and the attempt directories with its files."""

    attempts: tuple[str, ...]
    cleaning: CleaningResult


class NoOpPassControl:
    """A pass control that never stops a pass; Spark cancels tasks itself."""

    def is_stopped(self) -> bool:
        return False

    def on_bytes(self, count: int) -> None:
        """Ignore progress."""

    def expect(self, count: int) -> None:
        """Ignore the expected bytes."""


def engine_for(size: int) -> Engine:
    """Prepare the worker, and return a cleaning engine for a number of bytes."""
    prepare_worker()
    return engine(size)


def run_whole_pass(
    work: CompactionTask, advance: AdvanceProgress, *, files: Files
) -> PassOutput | CordwoodError:
    """Run a pass over a whole log in one task."""
    parts = _parts(work, files)
    try:
        attempt, cleaning = _write_attempt(work.job, files, write=parts.run_whole)
    except CordwoodError as error:
        return error
    advance(work.size)
    return PassOutput((attempt,), cleaning)


def run_distributed_pass(
    spark: SparkSession, work: CompactionTask, *, files: Files, part_bytes: int
) -> PassOutput | CordwoodError:
    """Run a pass in several tasks: one per part, bucket and group."""
    (groups,) = run_tasks(spark, [work], work=partial(survey_log, files=files))
    if isinstance(groups, CordwoodError):
        return groups
    parts = split_into_parts(groups, part_bytes=part_bytes)
    buckets = count_buckets(groups, memory_bytes=work.job.memory_bytes)
    frame = (
        spark.range(0, len(parts), 1, len(parts))
        .mapInArrow(partial(collect_keys, work, files, parts, buckets), ROW)
        .repartitionById(buckets, "place")
        .mapInArrow(partial(settle_bucket, work), ROW)
        .repartitionById(len(groups), "place")
        .mapInArrow(partial(rewrite_group, work, files, groups), ROW)
    )
    answers = collect_messages(frame)
    return join_groups(work.job, [answers[number] for number in sorted(answers)])


def survey_log(
    work: CompactionTask, _advance: AdvanceProgress, *, files: Files
) -> list[list[SurveyedSegment]] | CordwoodError:
    """Survey a log in one task."""
    try:
        return _parts(work, files).survey()
    except CordwoodError as error:
        return error


def join_groups(job: CleaningJob, answers: Sequence[object]) -> PassOutput | CordwoodError:
    """Join the results of the groups of a log."""
    attempts, written = list[str](), list[WrittenGroup]()
    for answer in answers:
        if isinstance(answer, CordwoodError):
            return answer
        assert isinstance(answer, _GroupOutput), "other answers are errors"
        attempts.append(answer.attempt)
        written.append(answer.group)
    return PassOutput(tuple(attempts), combine_groups(job, written))


class _GroupOutput(NamedTuple):
    """A written group and its attempt directory."""

    attempt: str
    group: WrittenGroup


def collect_keys(  # tidy: allow[positional] bound by partial, then called with the rows
    work: CompactionTask, files: Files, parts: Sequence[PassPart], buckets: int, batches: _Rows
) -> _Rows:
    """Yield the last records per key of parts, by bucket; the rows have the parts' numbers."""
    in_parts = _parts(work, files)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from _rows(in_parts.collect(parts[number], buckets=buckets))


def settle_bucket(work: CompactionTask, batches: _Rows) -> _Rows:
    """Yield the retained records of a bucket, by group, after all its messages have arrived."""
    received = [message for _, message in read_messages(batches)]
    errors = [each for each in received if isinstance(each, CordwoodError)]
    if errors:
        yield message_row(0, errors[0])
    elif received:
        keys = [each for each in received if isinstance(each, PartKeys)]
        answers = resolve_bucket(keys, job=work.job, engine=engine_for(work.size))
        yield from _rows((each.group, each) for each in answers)


def rewrite_group(  # tidy: allow[positional] bound by partial, then called with the rows
    work: CompactionTask, files: Files, groups: Sequence[Sequence[SurveyedSegment]], batches: _Rows
) -> _Rows:
    """Write the group of a task, after all buckets have sent its retained records."""
    received = read_messages(batches)
    first = next(received, None)
    if first is None:
        return
    number, in_parts = first[0], _parts(work, files)

    def write(attempt: str) -> WrittenGroup:
        settled = _settled_keys(chain([first], received))
        return in_parts.rewrite(groups[number], settled, directory=attempt)

    try:
        yield message_row(number, _GroupOutput(*_write_attempt(work.job, files, write=write)))
    except CordwoodError as error:
        yield message_row(number, error)


def _settled_keys(received: Iterable[_Row]) -> Iterator[GroupSurvivors]:
    """Yield the messages of buckets; raise the error of a failed bucket."""
    for _, each in received:
        if isinstance(each, CordwoodError):
            raise each
        assert isinstance(each, GroupSurvivors), "buckets send no other messages"
        yield each


def _write_attempt(job: CleaningJob, files: Files, *, write: Callable[[str], T]) -> tuple[str, T]:
    """Call `write` with a new attempt directory; return its path and the result."""
    try:
        token = SystemRandom().token(TOKEN_BYTES)
        attempt = create_attempt(files, job.directory, token=token)
    except OSError as error:
        raise CleaningFailedError(f"{job.directory}: {error}") from error
    try:
        return attempt, write(attempt)
    except BaseException:
        with suppress(OSError):
            remove_attempt(files, attempt)
        raise


def _parts(work: CompactionTask, files: Files) -> DistributedPass:
    return DistributedPass(
        job=work.job, files=files, engine=engine_for(work.size), control=NoOpPassControl()
    )


def _rows(sent: Iterable[_Row]) -> _Rows:
    """Yield rows; an error becomes the last row, for bucket or group 0."""
    try:
        for place, message in sent:
            yield message_row(place, message)
    except CordwoodError as error:
        yield message_row(0, error)

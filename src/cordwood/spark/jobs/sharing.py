"""Passes in tasks: a whole log in one, or a large one in many, with a shuffle of keys between.

    part of a log ──► what is left of it ──► bucket of hashes ──► the last ones ──► group
    collect           keys, by bucket        settle               by group          rewrite

What crosses is bytes of ours, some of them a row: a key, its hash and a number for each record that
is left of a part, then the numbers of those that stay. No record becomes a row of Spark's.

Tasks write apart from the log (`attempts`), so one that is tried again, or is slow to die, is in
nobody's way. An error is an answer, and is handed on to the end.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias, TypeVar

import pyarrow as pa
from pyspark.sql import SparkSession

from cordwood.compaction.attempts import TOKEN_BYTES, begin_attempt, remove_attempt
from cordwood.compaction.engine import Engine
from cordwood.compaction.job import Cleaning, CleaningFailedError, CleaningJob
from cordwood.compaction.kernels import engine
from cordwood.compaction.parts import (
    Part,
    PartKeys,
    PassInParts,
    SettledKeys,
    WrittenGroup,
    buckets_for,
    joined,
    parts_of,
    settle,
)
from cordwood.compaction.stretches import Surveyed
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files
from cordwood.core.system import SystemRandom
from cordwood.spark.message_rows import ROW, message_row, messages
from cordwood.spark.readiness import make_ready
from cordwood.spark.running import Tell, answers_of, run_tasks

T = TypeVar("T")
#: Rows as Spark hands them over, and takes them.
_Rows: TypeAlias = Iterator[pa.RecordBatch]
#: A row: the number of a bucket or of a group, and what it is told.
_Row: TypeAlias = tuple[int, object]


class Work(NamedTuple):
    """A pass, and how many bytes of a log it is over."""

    job: CleaningJob
    size: int


class Made(NamedTuple):
    """What a pass has come to, and where it lies until it is the log's."""

    attempts: tuple[str, ...]
    cleaning: Cleaning


class Unhindered:
    """A pass that Spark alone stops."""

    def is_stopped(self) -> bool:
        return False

    def on_bytes(self, count: int) -> None:
        """Take no notice."""

    def expect(self, count: int) -> None:
        """Take no notice."""


def engine_for(size: int) -> Engine:
    """Return an engine for so many bytes; whoever has a lot to do waits for kernels."""
    make_ready()
    return engine(size)


def make_whole(work: Work, tell: Tell, *, files: Files) -> Made | CordwoodError:
    """Make a pass in one task."""
    parts = _parts(work, files)
    try:
        attempt, cleaning = _apart(work.job, files, write=parts.whole)
    except CordwoodError as error:
        return error
    tell(work.size)
    return Made((attempt,), cleaning)


def make_shared(
    spark: SparkSession, work: Work, *, files: Files, part_bytes: int
) -> Made | CordwoodError:
    """Make a pass in as many tasks as it has parts, buckets and groups."""
    (groups,) = run_tasks(spark, [work], work=partial(surveyed, files=files))
    if isinstance(groups, CordwoodError):
        return groups
    parts = parts_of(groups, part_bytes=part_bytes)
    buckets = buckets_for(groups, memory_bytes=work.job.memory_bytes)
    told = (
        spark.range(0, len(parts), 1, len(parts))
        .mapInArrow(partial(collected, work, files, parts, buckets), ROW)
        .repartitionById(buckets, "place")
        .mapInArrow(partial(settled_in, work), ROW)
        .repartitionById(len(groups), "place")
        .mapInArrow(partial(rewritten, work, files, groups), ROW)
    )
    answers = answers_of(told)
    return made_of(work.job, [answers[number] for number in sorted(answers)])


def surveyed(work: Work, _tell: Tell, *, files: Files) -> list[list[Surveyed]] | CordwoodError:
    """Survey a log in one task."""
    try:
        return _parts(work, files).survey()
    except CordwoodError as error:
        return error


def made_of(job: CleaningJob, answers: Sequence[object]) -> Made | CordwoodError:
    """Return what groups that were written apart come to together."""
    attempts, written = list[str](), list[WrittenGroup]()
    for answer in answers:
        if isinstance(answer, CordwoodError):
            return answer
        assert isinstance(answer, _Written), "groups are written"
        attempts.append(answer.attempt)
        written.append(answer.group)
    return Made(tuple(attempts), joined(job, written))


class _Written(NamedTuple):
    """A group, and where it lies."""

    attempt: str
    group: WrittenGroup


def collected(  # tidy: allow[positional] bound one after the other, and then given the rows
    work: Work, files: Files, parts: Sequence[Part], buckets: int, batches: _Rows
) -> _Rows:
    """Tell buckets what is left of parts, whose numbers are in the rows."""
    in_parts = _parts(work, files)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from _rows(in_parts.collect(parts[number], buckets=buckets))


def settled_in(work: Work, batches: _Rows) -> _Rows:
    """Tell groups what stays of a bucket, once all parts have told what they have."""
    told = [message for _, message in messages(batches)]
    errors = [each for each in told if isinstance(each, CordwoodError)]
    if errors:
        yield message_row(0, errors[0])
    elif told:
        keys = [each for each in told if isinstance(each, PartKeys)]
        answers = settle(keys, job=work.job, engine=engine_for(work.size))
        yield from _rows((each.group, each) for each in answers)


def rewritten(  # tidy: allow[positional] bound one after the other, and then given the rows
    work: Work, files: Files, groups: Sequence[Sequence[Surveyed]], batches: _Rows
) -> _Rows:
    """Write the group that a task is told of, once all buckets have told what stays of it."""
    told = messages(batches)
    first = next(told, None)
    if first is None:
        return
    number, in_parts = first[0], _parts(work, files)

    def write(attempt: str) -> WrittenGroup:
        settled = _settled(chain([first], told))
        return in_parts.rewrite(groups[number], settled, directory=attempt)

    try:
        yield message_row(number, _Written(*_apart(work.job, files, write=write)))
    except CordwoodError as error:
        yield message_row(number, error)


def _settled(told: Iterable[_Row]) -> Iterator[SettledKeys]:
    """Yield what buckets say, one after the other; an error that one of them had is raised."""
    for _, each in told:
        if isinstance(each, CordwoodError):
            raise each
        assert isinstance(each, SettledKeys), "buckets tell nothing else"
        yield each


def _apart(job: CleaningJob, files: Files, *, write: Callable[[str], T]) -> tuple[str, T]:
    """Let something be written into a directory of its own; return its path with the result."""
    try:
        token = SystemRandom().token(TOKEN_BYTES)
        attempt = begin_attempt(files, job.directory, token=token)
    except OSError as error:
        raise CleaningFailedError(f"{job.directory}: {error}") from error
    try:
        return attempt, write(attempt)
    except BaseException:
        with suppress(OSError):
            remove_attempt(files, attempt)
        raise


def _parts(work: Work, files: Files) -> PassInParts:
    return PassInParts(
        job=work.job, files=files, engine=engine_for(work.size), control=Unhindered()
    )


def _rows(told: Iterable[_Row]) -> _Rows:
    """Yield rows; an error that ends them is one, for the first bucket or group."""
    try:
        for place, message in told:
            yield message_row(place, message)
    except CordwoodError as error:
        yield message_row(0, error)

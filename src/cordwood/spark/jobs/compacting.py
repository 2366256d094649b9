"""Compacts partitions where they lie, many at a time, while no broker has their directories.

    driver   directories locked, logs opened, plans made, as `cordwood compact` does
    task     a whole log: the broker's own pass; of a large one a part of it (`sharing`)
    driver   what was written becomes the log's, as `.cleaned` files
    task     the proof that it is right
    driver   group by group swapped in

Whether a log is taken whole or shared out (`compact_order`), the bytes are those that one process
would have left.

Some logs are done at a time, from the first step to the last. A driver that dies leaves what a
crash of a broker leaves: whoever opens a log next, as this job does, puts it in order. Those that
were done are done.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from pyspark.sql import SparkSession

from cordwood.compaction.attempts import adopt, remove_attempts
from cordwood.compaction.job import Cleaning, CleaningFailedError
from cordwood.compaction.proving import prove
from cordwood.core.errors import CordwoodError, CorruptMessageError, DamagedFileError
from cordwood.core.ports import Clock, Files
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom
from cordwood.records.kernels import decoder
from cordwood.spark.jobs.compact_order import CompactJobOrder
from cordwood.spark.jobs.sharing import Made, Unhindered, Work, engine_for, make_shared, make_whole
from cordwood.spark.progress import UNSEEN, Progress
from cordwood.spark.running import Tell, run_tasks
from cordwood.storage.atomic import directory_of
from cordwood.storage.leftovers import remove_cleaned
from cordwood.storage.log import Log
from cordwood.workbench.compact import (
    Begun,
    CompactReport,
    OwnerTools,
    PlaceToCompact,
    begin,
    swap_in,
)
from cordwood.workbench.locked import locked
from cordwood.workbench.owned import opened

#: So many logs are open at a time.
LOGS_AT_ONCE: Final = 64


class Compaction(NamedTuple):
    """What has become of each log, in order, and what some of them have come to nothing by."""

    reports: tuple[CompactReport, ...]
    failures: tuple[CordwoodError, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the driver and its tasks stand on."""

    spark: SparkSession
    files: Files
    clock: Clock
    progress: Progress = UNSEEN

    @classmethod
    def of(cls, spark: SparkSession, progress: Progress) -> "Ground":
        """Return the machine's."""
        return cls(spark=spark, files=SystemFiles(), clock=SystemClock(), progress=progress)

    @property
    def tools(self) -> OwnerTools:
        """What the driver works with."""
        return OwnerTools(
            files=self.files, clock=self.clock, random=SystemRandom(), decoder=decoder()
        )


class _Log(NamedTuple):
    """A log that is open, and what there is to do for it."""

    log: Log
    begun: Begun

    @property
    def size(self) -> int:
        return self.begun.report.size


#: What a step has come to for a log: an error ends it for this log alone.
_Outcome: TypeAlias = Cleaning | CordwoodError


def compact(
    ground: Ground,
    places: Sequence[PlaceToCompact],
    *,
    order: CompactJobOrder,
    hear: Callable[[CompactReport], object] | None = None,
) -> Compaction:
    """Compact partitions, and let each report be heard when its log is done.

    LogDirectoryError, SettingError: as `workbench.compact`. SparkError: some logs may be done.
    """
    done: list[CompactReport | CordwoodError] = []
    with ExitStack() as stack:
        for directory in sorted({directory_of(place.path) for place in places}):
            stack.enter_context(locked(ground.files, directory))
        for first in range(0, len(places), LOGS_AT_ONCE):
            some = _compact_some(ground, places[first : first + LOGS_AT_ONCE], order=order)
            _tell(some, hear)
            done += some
    return Compaction(
        tuple(each for each in done if isinstance(each, CompactReport)),
        tuple(each for each in done if isinstance(each, CordwoodError)),
    )


def _compact_some(
    ground: Ground, places: Sequence[PlaceToCompact], *, order: CompactJobOrder
) -> list[CompactReport | CordwoodError]:
    """Compact logs that are open together."""
    tools, files = ground.tools, ground.files
    with ExitStack() as stack:
        logs: list[_Log | CordwoodError] = []
        for path, found in places:
            owned = opened(files, path, config=found.config, clock=tools.clock, random=tools.random)
            try:
                log = stack.enter_context(owned)
            except (CorruptMessageError, DamagedFileError) as error:
                logs.append(error)
                continue
            remove_attempts(files, path)
            logs.append(_Log(log, begin(tools, log, found=found, order=order)))
        due = [each for each in logs if isinstance(each, _Log) and each.begun.job is not None]
        try:
            outcomes = _prove(ground, due, made=_make(ground, due, order=order))
            left = iter(outcomes)
            return [_finished(tools, each, left) for each in logs]
        finally:
            for each in due:
                remove_attempts(files, each.log.directory)


def _finished(
    tools: OwnerTools, each: _Log | CordwoodError, left: Iterator[_Outcome]
) -> CompactReport | CordwoodError:
    """Return what a log has come to, of which the passes' outcomes are left in its turn."""
    if isinstance(each, CordwoodError):
        return each
    return _finish(tools, each, outcome=next(left)) if each.begun.job else each.begun.report


def _tell(
    done: Sequence[CompactReport | CordwoodError], hear: Callable[[CompactReport], object] | None
) -> None:
    for each in done:
        if hear is not None and isinstance(each, CompactReport):
            hear(each)


def _make(ground: Ground, due: Sequence[_Log], *, order: CompactJobOrder) -> list[_Outcome]:
    """Return what the passes of logs come to; what they write is the logs' already."""
    files, spark, progress = ground.files, ground.spark, ground.progress
    work = {
        number: Work(each.begun.job, each.size)
        for number, each in enumerate(due)
        if each.begun.job is not None
    }
    whole = {number: one for number, one in work.items() if one.size <= order.whole_bytes}
    progress.begin("compact", sum(one.size for one in work.values()))
    first = sorted(whole, key=lambda number: -whole[number].size)
    each_whole = run_tasks(
        spark,
        [whole[number] for number in first],
        work=partial(make_whole, files=files),
        progress=progress,
    )
    made = dict(zip(first, each_whole, strict=True))
    for number in work.keys() - whole.keys():
        made[number] = make_shared(spark, work[number], files=files, part_bytes=order.part_bytes)
        progress.advance(work[number].size)
    return [
        _adopted(files, due[number].log.directory, made=made[number]) for number in sorted(made)
    ]


def _adopted(files: Files, directory: str, *, made: Made | CordwoodError) -> _Outcome:
    """Make what tasks have written files of the log."""
    if isinstance(made, CordwoodError):
        return made
    for attempt in made.attempts:
        adopt(files, attempt, directory=directory)
    files.sync_directory(directory)
    return made.cleaning


def _prove(ground: Ground, due: Sequence[_Log], *, made: Sequence[_Outcome]) -> list[_Outcome]:
    """Return what was made, as it was verified; an error instead of what is not right."""
    tasks = [
        _Proof(Work(each.begun.job, each.size), outcome)
        for each, outcome in zip(due, made, strict=True)
        if each.begun.job is not None and isinstance(outcome, Cleaning)
    ]
    ground.progress.begin("verify", sum(task.work.size for task in tasks))
    work = partial(_prove_one, files=ground.files)
    proven = iter(run_tasks(ground.spark, tasks, work=work, progress=ground.progress))
    return [next(proven) if isinstance(outcome, Cleaning) else outcome for outcome in made]


class _Proof(NamedTuple):
    """What is to be proven right."""

    work: Work
    cleaning: Cleaning


def _prove_one(proof: _Proof, tell: Tell, *, files: Files) -> _Outcome:
    (job, size), cleaning = proof
    try:
        return prove(
            job, cleaning, files=files, judges=engine_for(size).judges, control=Unhindered()
        )
    except CordwoodError as error:
        return error
    except OSError as error:
        return CleaningFailedError(f"{job.directory}: {error}")
    finally:
        tell(size)


def _finish(tools: OwnerTools, each: _Log, *, outcome: _Outcome) -> CompactReport | CordwoodError:
    """Swap in what was proven right; what was not goes."""
    if isinstance(outcome, CordwoodError):
        with suppress(OSError):
            remove_cleaned(tools.files, each.log.directory)
        return outcome
    return swap_in(tools, each.log, begun=each.begun, cleaning=outcome)

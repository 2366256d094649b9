"""The job `compact`: compaction of partitions in place, while no broker uses their directories.

    driver   locks directories, opens logs, makes plans, as `cordwood compact` does
    task     runs the broker's cleaning pass over a whole log, or over a part of a large log
             (`distributed_compaction`)
    driver   moves the written segments into the log, as `.cleaned` files
    task     verifies them
    driver   swaps them in, group by group

A log has the same bytes whether one task or several compact it (`compact_order`).

Up to `LOGS_AT_ONCE` logs are processed together, from the first step to the last. If the driver
dies, it leaves what a crashed broker leaves, and the next program that opens the log recovers it,
as this job does. Finished logs stay finished.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from pyspark.sql import SparkSession

from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningResult
from cordwood.compaction.passes.attempt_directories import adopt_attempt, remove_attempts
from cordwood.compaction.passes.pass_verification import verify_pass
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Files, Ports
from cordwood.records.kernels import decoder, state_scanner
from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder
from cordwood.spark.jobs.compaction.distributed_compaction import (
    CompactionTask,
    NoOpPassControl,
    PassOutput,
    engine_for,
    run_distributed_pass,
    run_whole_pass,
)
from cordwood.spark.runtime.progress import NO_PROGRESS, Progress
from cordwood.spark.runtime.task_runner import AdvanceProgress, run_tasks
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.log.crash_cleanup import remove_cleaned
from cordwood.storage.log.log import Log
from cordwood.workbench.compact import (
    FAILURES_OF_A_LOG,
    CompactReport,
    CompactTarget,
    PreparedPass,
    prepare_pass,
    swap_in,
)
from cordwood.workbench.exclusive_log import lock_directory, open_locked
from cordwood.workbench.record_digest import RecordReaders

#: Number of logs that are open at a time.
LOGS_AT_ONCE: Final = 64


class Compaction(NamedTuple):
    """The reports of finished logs, in order, and the errors of failed ones."""

    reports: tuple[CompactReport, ...]
    failures: tuple[CordwoodError, ...]


class _OpenLog(NamedTuple):
    """An open log with its compaction plan."""

    log: Log
    begun: PreparedPass

    @property
    def size(self) -> int:
        return self.begun.report.size


#: The result of a step for a log; an error ends the job for this log only.
_Outcome: TypeAlias = CleaningResult | CordwoodError


def compact_partitions(
    spark: SparkSession,
    places: Sequence[CompactTarget],
    *,
    ports: Ports,
    order: CompactJobOrder,
    progress: Progress = NO_PROGRESS,
    on_report: Callable[[CompactReport], object] | None = None,
) -> Compaction:
    """Compact partitions, and call `on_report` when a log is finished.

    Raise LogDirectoryError and SettingError as `workbench.compact` does. After a SparkError some
    logs may be finished.
    """
    done: list[CompactReport | CordwoodError] = []
    with ExitStack() as stack:
        for directory in sorted({directory_of(place.path) for place in places}):
            stack.enter_context(lock_directory(ports.files, directory))
        for first in range(0, len(places), LOGS_AT_ONCE):
            group = places[first : first + LOGS_AT_ONCE]
            finished = stack.enter_context(
                closing(_compact_group(spark, group, ports=ports, order=order, progress=progress))
            )
            done += (_reported(each, on_report) for each in finished)
    return Compaction(
        tuple(each for each in done if isinstance(each, CompactReport)),
        tuple(each for each in done if isinstance(each, CordwoodError)),
    )


def _reported(
    result: CompactReport | CordwoodError, on_report: Callable[[CompactReport], object] | None
) -> CompactReport | CordwoodError:
    """Call `on_report` unless the log has failed; return the result."""
    if on_report is not None and isinstance(result, CompactReport):
        on_report(result)
    return result


def _compact_group(
    spark: SparkSession,
    places: Sequence[CompactTarget],
    *,
    ports: Ports,
    order: CompactJobOrder,
    progress: Progress,
) -> Generator[CompactReport | CordwoodError, None, None]:
    """Compact logs that are open together; yield the result of each one once it is finished."""
    files = ports.files
    with ExitStack() as stack:
        logs: list[_OpenLog | CordwoodError] = []
        for path, found in places:
            try:
                log = stack.enter_context(open_locked(ports, path, config=found.config))
                remove_attempts(files, path)
                prepared = prepare_pass(ports, log, found=found, order=order, decoder=decoder())
            except FAILURES_OF_A_LOG as error:
                logs.append(error)
            else:
                logs.append(_OpenLog(log, prepared))
        due = [each for each in logs if isinstance(each, _OpenLog) and each.begun.job is not None]
        try:
            written = _run_passes(spark, due, files=files, order=order, progress=progress)
            outcomes = iter(_verify(spark, due, written=written, files=files, progress=progress))
            for opened in logs:
                yield _finish_next(ports, opened, outcomes)
        finally:
            for each in due:
                remove_attempts(files, each.log.directory)


def _finish_next(
    ports: Ports, each: _OpenLog | CordwoodError, outcomes: Iterator[_Outcome]
) -> CompactReport | CordwoodError:
    """Return the report of a log; a log with a pass takes the next outcome."""
    if isinstance(each, CordwoodError):
        return each
    return _finish(ports, each, outcome=next(outcomes)) if each.begun.job else each.begun.report


def _run_passes(
    spark: SparkSession,
    due: Sequence[_OpenLog],
    *,
    files: Files,
    order: CompactJobOrder,
    progress: Progress,
) -> list[_Outcome]:
    """Run the cleaning passes of logs; move the written segments into the logs."""
    work = {
        number: CompactionTask(each.begun.job, each.size)
        for number, each in enumerate(due)
        if each.begun.job is not None
    }
    whole = {number: one for number, one in work.items() if one.size <= order.whole_bytes}
    progress.begin("compact", sum(one.size for one in work.values()))
    largest_first = sorted(whole, key=lambda number: -whole[number].size)
    outputs = run_tasks(
        spark,
        [whole[number] for number in largest_first],
        work=partial(run_whole_pass, files=files),
        progress=progress,
    )
    written = dict(zip(largest_first, outputs, strict=True))
    for number in work.keys() - whole.keys():
        written[number] = run_distributed_pass(
            spark, work[number], files=files, part_bytes=order.part_bytes
        )
        progress.advance(work[number].size)
    return [
        _adopt(files, due[number].log.directory, output=written[number])
        for number in sorted(written)
    ]


def _adopt(files: Files, directory: str, *, output: PassOutput | CordwoodError) -> _Outcome:
    """Move the files that tasks have written into the log's directory."""
    if isinstance(output, CordwoodError):
        return output
    for attempt in output.attempts:
        adopt_attempt(files, attempt, directory=directory)
    files.sync_directory(directory)
    return output.cleaning


def _verify(
    spark: SparkSession,
    due: Sequence[_OpenLog],
    *,
    written: Sequence[_Outcome],
    files: Files,
    progress: Progress,
) -> list[_Outcome]:
    """Verify written segments; return an error for a log that fails verification."""
    tasks = [
        _VerificationTask(CompactionTask(each.begun.job, each.size), outcome)
        for each, outcome in zip(due, written, strict=True)
        if each.begun.job is not None and isinstance(outcome, CleaningResult)
    ]
    progress.begin("verify", sum(task.work.size for task in tasks))
    work = partial(_verify_one, files=files)
    verified = iter(run_tasks(spark, tasks, work=work, progress=progress))
    return [
        next(verified) if isinstance(outcome, CleaningResult) else outcome for outcome in written
    ]


class _VerificationTask(NamedTuple):
    """A pass and its output, to be verified."""

    work: CompactionTask
    cleaning: CleaningResult


def _verify_one(task: _VerificationTask, advance: AdvanceProgress, *, files: Files) -> _Outcome:
    (job, size), cleaning = task
    try:
        return verify_pass(
            job, cleaning, files=files, judges=engine_for(size).judges, control=NoOpPassControl()
        )
    except CordwoodError as error:
        return error
    except OSError as error:
        return CleaningFailedError(f"{job.directory}: {error}")
    finally:
        advance(size)


def _finish(ports: Ports, each: _OpenLog, *, outcome: _Outcome) -> CompactReport | CordwoodError:
    """Swap in verified segments; remove the segments of a failed log.

    A log whose segments were swapped in may fail too, if it cannot be read for its certificate.
    """
    if isinstance(outcome, CordwoodError):
        with suppress(OSError):
            remove_cleaned(ports.files, each.log.directory)
        return outcome
    readers = RecordReaders(decoder(), state_scanner())
    try:
        return swap_in(ports, each.log, prepared=each.begun, cleaning=outcome, readers=readers)
    except FAILURES_OF_A_LOG as error:
        return error

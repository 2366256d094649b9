"""Changes of a manager's logs in steps, driven on the worker.

    drive_change      any change: its jobs on the worker, its steps on the owner's thread
    prepare_append    the files of the next append (`append_files`)
    roll              a new segment, regardless of the roll limits
    apply_retention   the old segments of one log (Kafka: `LogManager.cleanupLogs`)

A change ends early, with a KafkaStorageError, when its log goes offline or is deleted.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.storage.log.append_job import PreparedRecords
from cordwood.storage.log.follower_records import FollowerRecords
from cordwood.storage.log.log import Log
from cordwood.storage.log.maintenance_lease import LeaseStage
from cordwood.storage.log.retention import RetentionPlan, SegmentDeletion
from cordwood.storage.log.segment_deletion import SEGMENTS_PER_TURN
from cordwood.storage.log.stepped_change import SteppedChange, Submit
from cordwood.storage.manager.deleted_ranges import deleted_ranges
from cordwood.storage.manager.future_completion import completed
from cordwood.storage.manager.log_manager import LogManager, LogUse
from cordwood.storage.manager.step_driver import NextJob, drive

_RETENTION: Final = "retention"


def drive_change(
    manager: LogManager, log: Log, *, change: SteppedChange, lane: Lane
) -> Pending[None]:
    """Make all steps of a change that has just begun."""
    submit = partial(manager.ports.worker.submit, lane=lane)
    return _drive(manager, log, next_job=partial(change.advance, submit))


def prepare_append(
    manager: LogManager,
    log: Log,
    *,
    prepared: PreparedRecords | FollowerRecords,
    use: LogUse | None = None,
) -> Pending[None] | None:
    """Change the files that the next append needs; None if it needs no change.

    A truncation that is under way ends first. The caller asks again when the result is done, with
    or without an error. `use` is a context of calls into the log that the caller keeps.
    """
    end = log.changes.end_before_append()
    if end is not None:
        return end
    with use or manager.using(log):
        change = log.begin_append_files(prepared)
    return None if change is None else _change_files(manager, log, change=change)


def roll(manager: LogManager, log: Log) -> Pending[None]:
    """Roll a new segment, unless the active one is empty; join a change of the files."""
    end = log.changes.files_end
    if end is not None and not end.done():
        return end
    with manager.using(log):
        change = log.begin_roll()
    return completed() if change is None else _change_files(manager, log, change=change)


def apply_retention(manager: LogManager, log: Log) -> Pending[None]:
    """Delete the segments of a log that retention releases, unless its lease is taken."""
    if not log.lease.is_free:
        return completed()
    log.lease = log.lease.take(LeaseStage.RETENTION, _RETENTION)
    jobs = _retention_jobs(manager, log)
    end = _drive(manager, log, next_job=lambda: next(jobs, None))
    end.add_done_callback(lambda _: _release(log))
    return end


def _release(log: Log) -> None:
    log.lease = log.lease.release(_RETENTION)


def _retention_jobs(manager: LogManager, log: Log) -> Iterator[Pending[None]]:
    """Yield the jobs of retention, each of which must have ended before the next one."""
    worker, files = manager.ports.worker, manager.ports.files
    while (truncation := log.changes.end_of_truncation()) is not None:
        yield truncation
    timestamps = log.begin_retention()
    if not timestamps.is_complete:
        yield (job := worker.submit(partial(timestamps.run, files), lane=Lane.READ))
        job.result()
        timestamps.finish()
    if log.lease.is_revoked:
        return
    plan = log.plan_retention(timestamps, explains=False)
    if plan.is_rolling:
        yield (end := roll(manager, log))
        end.result()
        plan = log.plan_retention(timestamps, explains=False)
    if not plan.is_rolling:
        yield from _deletion_jobs(manager, log, plan=plan)


def _deletion_jobs(
    manager: LogManager, log: Log, *, plan: RetentionPlan
) -> Iterator[Pending[None]]:
    """Yield the renames of a plan, some segments at a time, and report what was deleted."""
    submit: Submit = partial(manager.ports.worker.submit, lane=Lane.FILES)
    deleted = list[SegmentDeletion]()
    try:
        for portion in plan.portions(SEGMENTS_PER_TURN):
            if log.lease.is_revoked:
                return
            change = log.begin_deletion(portion)
            while (renames := change.advance(submit)) is not None:
                yield renames
            deleted += portion.deletions
    finally:
        for each in deleted_ranges(log.partition, deleted):
            manager.options.on_deleted(each)


def _change_files(manager: LogManager, log: Log, *, change: SteppedChange) -> Pending[None]:
    """Drive a change of the files that appends need; other appends wait for its end."""
    end = drive_change(manager, log, change=change, lane=Lane.FILES)
    log.changes.files_end = end
    return end


def _drive(manager: LogManager, log: Log, *, next_job: NextJob) -> Pending[None]:
    def next_of_log() -> Pending[None] | None:
        if not manager.has(log):
            raise KafkaStorageError(f"{log.partition}: the log is offline or deleted")
        with manager.using(log):
            return next_job()

    return drive(next_of_log, call_soon=manager.options.call_soon)

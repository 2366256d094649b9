"""Truncation of a manager's logs (Kafka: `LogManager.truncateTo`, `truncateFullyAndStartAt`).

A log ends at its new offset at once. The rest of the truncation is driven on the worker, and the
checkpoints are written. The caller must not append before every returned result is done without an
error. Until then a crash could bring the removed records back. It could also leave a recovery point
above the offset, so that recovery would not check new records there.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from cordwood.core.ports import Lane, Pending
from cordwood.core.types import TopicPartition
from cordwood.storage.checkpoints.checkpoint_files import CLEANER_OFFSETS, RECOVERY_POINTS
from cordwood.storage.log.log import Log
from cordwood.storage.log.stepped_change import SteppedChange
from cordwood.storage.manager.log_changes import drive_change
from cordwood.storage.manager.log_manager import LogManager


def truncate(manager: LogManager, offsets: Mapping[TopicPartition, int]) -> list[Pending[None]]:
    """Truncate logs to end at these offsets, and abort their maintenance."""
    logs = [(manager.current.require(each), offset) for each, offset in offsets.items()]
    begins = [(log, partial(log.begin_truncation, offset)) for log, offset in logs]
    return _truncate(manager, begins)


def truncate_fully(
    manager: LogManager, partition: TopicPartition, *, offset: int
) -> list[Pending[None]]:
    """Remove all records of a log, which continues at `offset`, and abort its maintenance."""
    log = manager.current.require(partition)
    return _truncate(manager, [(log, partial(log.begin_full_truncation, offset))])


def _truncate(
    manager: LogManager, begins: Iterable[tuple[Log, Callable[[], SteppedChange | None]]]
) -> list[Pending[None]]:
    running: list[Pending[None]] = []
    stale = {}
    for log, begin in begins:
        bounds, directory = log.bounds, manager.directory_of(log)
        recovery_point, cleaned_to = bounds.recovery_point, bounds.cleaned_to
        log.lease = log.lease.abort()
        with manager.using(log):
            change = begin()
        if change is not None:
            # The replica waits for the jobs, as for a flush.
            end = drive_change(manager, log, change=change, lane=Lane.FLUSH)
            log.changes.truncation_end = end
            running.append(end)
        manager.checkpoints.reread(log)
        if bounds.recovery_point != recovery_point:
            stale[directory.path, RECOVERY_POINTS] = directory
        if bounds.cleaned_to != cleaned_to:
            stale[directory.path, CLEANER_OFFSETS] = directory
    written = [manager.checkpoints.write(where, name) for (_, name), where in stale.items()]
    return [*running, *written]

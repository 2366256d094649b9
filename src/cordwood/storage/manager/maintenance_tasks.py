"""Periodic maintenance of logs (Kafka: the scheduled tasks of `LogManager.startup`).

    retention          deletes old segments of logs whose lease is free
    flush              flushes the logs whose `flush.ms` has passed
    recovery points    flushes the logs that have rolled, saves the leader epochs that retention or
                       a new leadership has changed, and writes the recovery points
    log starts         writes the log start offsets that `DeleteRecords` has raised
    high watermarks    writes the high watermarks, from which consumers continue after a restart
    producers          expires idle producers

As in Kafka, the first four run `first_turn_ms` after the start and then once an interval. Logs with
the cleanup policy `compact` are left to the cleaner, including their deletion by retention.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cordwood.core.ports import Timer
from cordwood.storage.checkpoints.checkpoint_files import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
)
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import NEVER
from cordwood.storage.manager.log_changes import apply_retention
from cordwood.storage.manager.log_flusher import LogFlusher
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.log_sweep import LogSweep


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceSettings:
    """The intervals of a broker, with Kafka's defaults."""

    first_turn_ms: int = 30_000
    retention_check_interval_ms: int = 300_000
    flush_check_interval_ms: int = NEVER
    recovery_point_interval_ms: int = 60_000
    log_start_interval_ms: int = 60_000
    high_watermark_interval_ms: int = 5_000
    producer_check_interval_ms: int = 600_000


class MaintenanceTasks:
    """The timers of a manager; they run from `start` to `stop`."""

    def __init__(
        self, manager: LogManager, flusher: LogFlusher, settings: MaintenanceSettings
    ) -> None:
        self._manager = manager
        self._flusher = flusher
        self._settings = settings
        self._scheduler = manager.ports.scheduler
        self._timers = list[Timer]()
        self._sweep = LogSweep(manager)

    def start(self) -> None:
        """Start the timers."""
        settings = self._settings
        first_ms = self._manager.ports.clock.monotonic_ms() + settings.first_turn_ms
        for interval_ms, call in (
            (settings.retention_check_interval_ms, self.delete_old_segments),
            (settings.flush_check_interval_ms, self.flush_due),
            (settings.recovery_point_interval_ms, self.write_recovery_points),
            (settings.log_start_interval_ms, self.write_log_starts),
        ):
            self._start_at(first_ms, interval_ms, call)
        self._every(settings.high_watermark_interval_ms, self.write_high_watermarks)
        self._every(settings.producer_check_interval_ms, self.expire_producers)

    def stop(self) -> None:
        """Cancel the timers, and end the sweeps that are running."""
        self._sweep.stop()
        for timer in self._timers:
            timer.cancel()

    def delete_old_segments(self) -> None:
        """Apply retention to every log that is not compacted."""
        self._sweep.run(self._apply_retention)

    def flush_due(self) -> None:
        """Flush the logs whose `flush.ms` has passed."""
        self._sweep.run(self._flush_if_due)

    def write_recovery_points(self) -> None:
        """Flush the logs that have rolled, save leader epochs, and write all recovery points."""
        self._sweep.run(self._flush_if_rolled)
        self._write_checkpoint(RECOVERY_POINTS)

    def write_log_starts(self) -> None:
        """Write the log start offsets, where no segment begins at them."""
        self._write_checkpoint(LOG_START_OFFSETS)

    def write_high_watermarks(self) -> None:
        """Write the high watermarks of all logs."""
        self._write_checkpoint(HIGH_WATERMARKS)

    def expire_producers(self) -> None:
        """Remove the state of producers that have been idle for too long."""
        self._sweep.run(Log.expire_producers)

    def _apply_retention(self, log: Log) -> None:
        if not log.config.is_compacted:
            end = apply_retention(self._manager, log)
            end.add_done_callback(lambda ended: self._report(log, ended.exception()))

    def _report(self, log: Log, error: BaseException | None) -> None:
        if error is not None:
            self._manager.failures.report(log.partition, error)

    def _flush_if_due(self, log: Log) -> None:
        if log.is_flush_due():
            self._flusher.flush(log)

    def _flush_if_rolled(self, log: Log) -> None:
        if log.bounds.recovery_point < log.base_offsets[-1]:
            self._flusher.flush(log)
        elif log.epoch_file.has_unsaved:
            self._flusher.save_epochs(log)

    def _write_checkpoint(self, name: str) -> None:
        self._sweep.run_steps(self._manager.checkpoints.collect_and_write(name))

    def _start_at(self, first_ms: float, interval_ms: int, call: Callable[[], object]) -> None:
        def start() -> None:
            self._every(interval_ms, call)
            call()

        self._timers.append(self._scheduler.call_at(first_ms, start))

    def _every(self, interval_ms: int, call: Callable[[], object]) -> None:
        if interval_ms != NEVER:
            self._timers.append(self._scheduler.every(interval_ms, call))

"""What is done to logs again and again, each at its own interval: retention, flushes, checkpoints.

    flush            logs whose `flush.ms` has passed
    retention        old segments of logs that nobody is at work on; the first pass comes soon
    checkpoints      recovery points, log starts, high watermarks: what a start after a crash reads
    producers        the idle ones are forgotten

Logs whose policy has compact are left to the cleaner, deletion included. What fails takes its
directory offline, and is no reason not to look after the others.
"""

from dataclasses import dataclass
from typing import Final

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Scheduler, Timer
from cordwood.storage.flusher import Flusher
from cordwood.storage.lease import Stage
from cordwood.storage.log import Log
from cordwood.storage.manager import LogManager

_HOLDER: Final = "retention"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepSettings:
    """The broker's intervals, Kafka's by default."""

    retention_check_interval_ms: int = 300_000
    first_retention_check_ms: int = 30_000
    flush_check_interval_ms: int = (1 << 63) - 1
    recovery_point_interval_ms: int = 60_000
    log_start_interval_ms: int = 60_000
    high_watermark_interval_ms: int = 5_000
    producer_check_interval_ms: int = 600_000


class Upkeep:
    """The timers of a manager; they run from `start` to `stop`."""

    def __init__(self, manager: LogManager, flusher: Flusher, settings: UpkeepSettings) -> None:
        self._manager = manager
        self._flusher = flusher
        self._settings = settings
        self._timers: list[Timer] = []

    def start(self, scheduler: Scheduler, *, now_ms: float) -> None:
        """Begin; `now_ms` is the monotonic time."""
        settings, manager = self._settings, self._manager
        every = (
            (settings.retention_check_interval_ms, self.delete_old_segments),
            (settings.flush_check_interval_ms, self.flush_due),
            (settings.recovery_point_interval_ms, manager.write_recovery_points),
            (settings.log_start_interval_ms, manager.write_log_starts),
            (settings.high_watermark_interval_ms, manager.write_high_watermarks),
            (settings.producer_check_interval_ms, self.expire_producers),
        )
        first_ms = now_ms + settings.first_retention_check_ms
        self._timers = [scheduler.call_at(first_ms, self.delete_old_segments)]
        self._timers += [scheduler.every(interval_ms, call) for interval_ms, call in every]

    def stop(self) -> None:
        """Make no call any more."""
        for timer in self._timers:
            timer.cancel()

    def delete_old_segments(self) -> None:
        """Let retention go over every log that may be worked on."""
        for log in self._logs():
            if log.config.is_compacted or not log.lease.is_free:
                continue
            log.lease = log.lease.take(Stage.RETENTION, _HOLDER)
            try:
                with self._manager.using(log):
                    log.delete_old_segments()
            except KafkaStorageError:
                continue  # the directory is offline, and who is on duty has been told
            finally:
                log.lease = log.lease.release(_HOLDER)

    def flush_due(self) -> None:
        """Flush the logs that have waited for long enough."""
        for log in self._logs():
            if log.is_flush_due():
                self._flusher.flush(log)

    def expire_producers(self) -> None:
        """Forget producers that have been idle for long."""
        for log in self._logs():
            log.expire_producers()

    def _logs(self) -> list[Log]:
        return list(self._manager.logs.values())

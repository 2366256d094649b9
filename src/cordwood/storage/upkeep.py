"""What is done to logs again and again, each at its own interval: retention, flushes, checkpoints.

    retention        old segments of logs that nobody is at work on
    flush            logs whose `flush.ms` has passed
    recovery points  logs that have begun a new segment are flushed, and the points written
    log starts       where logs start that have had records deleted
    high watermarks  what readers may see after a start
    producers        the idle ones are forgotten

As in Kafka the first four have their first turn a while after the start, and from then on one every
interval. Logs whose policy has compact are left to the cleaner, deletion included.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cordwood.core.ports import Timer
from cordwood.storage.checkpoints import HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS
from cordwood.storage.flusher import Flusher
from cordwood.storage.log import Log
from cordwood.storage.log_config import NEVER
from cordwood.storage.manager import LogManager
from cordwood.storage.rounds import Rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepSettings:
    """The broker's intervals, Kafka's by default."""

    first_turn_ms: int = 30_000
    retention_check_interval_ms: int = 300_000
    flush_check_interval_ms: int = NEVER
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
        self._scheduler = manager.tools.scheduler
        self._timers = list[Timer]()
        self._rounds = Rounds(manager)

    def start(self) -> None:
        """Begin."""
        settings = self._settings
        first_ms = self._manager.tools.clock.monotonic_ms() + settings.first_turn_ms
        for interval_ms, call in (
            (settings.retention_check_interval_ms, self.delete_old_segments),
            (settings.flush_check_interval_ms, self.flush_due),
            (settings.recovery_point_interval_ms, self.write_recovery_points),
            (settings.log_start_interval_ms, self.write_log_starts),
        ):
            self._begin_at(first_ms, interval_ms, call)
        self._every(settings.high_watermark_interval_ms, self.write_high_watermarks)
        self._every(settings.producer_check_interval_ms, self.expire_producers)

    def stop(self) -> None:
        """Make no call any more."""
        self._rounds.stop()
        for timer in self._timers:
            timer.cancel()

    def delete_old_segments(self) -> None:
        """Let retention go over every log that may be worked on."""
        self._for_each(self._delete_old_segments)

    def flush_due(self) -> None:
        """Flush the logs that have waited for long enough."""
        self._for_each(self._flush_if_due)

    def write_recovery_points(self) -> None:
        """Flush what lies before active segments, and say of each log up to where it is on disk."""
        self._for_each(self._flush_if_rolled)
        self._write(RECOVERY_POINTS)

    def write_log_starts(self) -> None:
        """Say of each log where it starts, if that is not simply its first segment."""
        self._write(LOG_START_OFFSETS)

    def write_high_watermarks(self) -> None:
        """Say of each log up to where it is on all replicas."""
        self._write(HIGH_WATERMARKS)

    def expire_producers(self) -> None:
        """Forget producers that have been idle for long."""
        self._for_each(Log.expire_producers)

    def _delete_old_segments(self, log: Log) -> None:
        if not log.config.is_compacted:
            self._manager.retain(log)

    def _flush_if_due(self, log: Log) -> None:
        if log.is_flush_due():
            self._flusher.flush(log)

    def _flush_if_rolled(self, log: Log) -> None:
        if log.bounds.recovery_point < log.base_offsets[-1]:
            self._flusher.flush(log)

    def _write(self, name: str) -> None:
        """Write a checkpoint; of thousands of logs that is too much to be taken at once."""
        taking = self._manager.begin_taking(name)
        self._rounds.go(taking.take, then=lambda: self._manager.write_taken(taking))

    def _begin_at(self, first_ms: float, interval_ms: int, call: Callable[[], object]) -> None:
        def begin() -> None:
            self._every(interval_ms, call)
            call()

        self._timers.append(self._scheduler.call_at(first_ms, begin))

    def _every(self, interval_ms: int, call: Callable[[], object]) -> None:
        if interval_ms != NEVER:
            self._timers.append(self._scheduler.every(interval_ms, call))

    def _for_each(self, call: Callable[[Log], object]) -> None:
        self._rounds.go(call)

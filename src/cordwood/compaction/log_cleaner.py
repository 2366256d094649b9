"""The cleaner of a broker's compacted logs (Kafka: `LogCleaner`, `LogCleaner.CleanerThread`).

    check    all compacted logs, a few per loop turn: retention runs on each, and the log is
             assessed as a candidate; the next check comes after the backoff, or when a pass ends
    pass     of the candidate with the highest dirty ratio: the cleaner takes the log's lease; a
             worker makes the plan, and a runner runs the pass outside of the loop
    swap     the new segments replace those that the pass read
    finish   the cleaner checkpoint advances, and the lease is released

`log.cleaner.threads` passes run concurrently, at most one per log. Truncation, deletion and a
change of the cleanup policy revoke the lease; the pass notices that and stops. If a pass ends
early, its files are removed before the log can be cleaned again. A failed pass is retried after a
growing backoff (`cleaning_failures`), and `on_failed` reports the reason. An unexpected error is a
failure of its pass too: the lease and the thread become free, and other logs are cleaned.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from cordwood.compaction.cleaner_config import CleanerConfig
from cordwood.compaction.cleaning_failures import CleaningFailure, CleaningFailures
from cordwood.compaction.cleaning_job import (
    CleanerRunner,
    CleaningResult,
    CleaningStoppedError,
)
from cordwood.compaction.key_hash import SEEDS
from cordwood.compaction.plan.candidates import LogToClean, assess, filthiest_first
from cordwood.compaction.plan.log_facts import PlanningJob, read_log_facts
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Lane, Pending, Timer, Worker
from cordwood.core.types import TopicPartition
from cordwood.storage.log.crash_cleanup import remove_cleaned
from cordwood.storage.log.log import Log
from cordwood.storage.log.maintenance_lease import LeaseStage
from cordwood.storage.log.segment_swap import SegmentReplacement, SwapRefusedError
from cordwood.storage.manager.log_changes import apply_retention, roll
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.log_sweep import LogSweep
from cordwood.storage.manager.swap_driver import SwapDriver

if TYPE_CHECKING:
    from cordwood.compaction.certificate import Certificate

T = TypeVar("T")

_HOLDER: Final = "the cleaner"
_STOPPED: Final = (CleaningStoppedError, SwapRefusedError)


@dataclass(frozen=True, slots=True)
class CompletedPass:
    """A completed pass: its certificate, and the time that it took, swap included."""

    partition: TopicPartition
    certificate: "Certificate"
    took_ms: float


@dataclass(slots=True, eq=False)
class _RunningPass:
    """One pass under way; it is also the control that its runner calls, on any thread."""

    log: Log
    truncations: int
    began_ms: float
    is_over: bool = False

    def is_stopped(self) -> bool:
        return self.is_over or self.log.lease.is_revoked

    def expect(self, count: int) -> None:
        """Do nothing: the broker does not track the progress of a pass."""

    def on_bytes(self, count: int) -> None:
        """Do nothing: the runner throttles the pass."""

    def replacements(self, result: CleaningResult) -> list[SegmentReplacement]:
        return [
            SegmentReplacement(
                group.replaced, tuple(each.base_offset for each in group.cleaned), self.truncations
            )
            for group in result.groups
        ]


class LogCleaner:
    """The cleaner of a manager's logs, from `start` to `close`; close it before the manager.

    `worker` runs the blocking calls of `runner`, and no other calls, because they take long.
    `on_completed` and `on_failed` are called for every pass that has ended, on the owner's thread.
    """

    def __init__(
        self,
        manager: LogManager,
        config: CleanerConfig,
        *,
        runner: CleanerRunner,
        worker: Worker,
        on_completed: Callable[[CompletedPass], object],
        on_failed: Callable[[TopicPartition, CleaningFailure], object],
    ) -> None:
        self._manager = manager
        self._config = config
        self._runner = runner
        self._worker = worker
        self._on_completed = on_completed
        self._on_failed = on_failed
        self._sweep, self._swapper = LogSweep(manager), SwapDriver(manager)
        self._failures = CleaningFailures()
        self._passes: dict[_RunningPass, Pending[CleaningResult | None]] = {}
        self._next_candidates: dict[TopicPartition, LogToClean] = {}
        self._timer: Timer | None = None
        self._is_checking = self._is_closed = False
        self._unassessed = 0
        self.candidates: Mapping[TopicPartition, LogToClean] = {}
        self.last_check_ms: float = manager.ports.clock.monotonic_ms()

    @property
    def failures(self) -> Mapping[TopicPartition, CleaningFailure]:
        """The logs whose last pass failed."""
        return self._failures.by_partition

    def start(self) -> None:
        """Start the checks."""
        self.reconfigure(self._config)

    def reconfigure(self, config: CleanerConfig) -> None:
        """Apply another configuration; running passes keep theirs, except for the rate."""
        self._config = config
        self._runner.limit(config.bytes_per_second)
        self._check_in(0)

    def close(self) -> Pending[None]:
        """Stop the running passes and discard their results; done when all have ended.

        A process may need seconds to end, so the worker waits for it.
        """
        self._is_closed = True
        self._sweep.stop()
        if self._timer is not None:
            self._timer.cancel()
        passes, self._passes = self._passes, {}
        for each in passes:
            each.is_over = True
        return self._worker.submit(
            partial(_end, tuple(passes.values()), self._runner), lane=Lane.BACKGROUND
        )

    # -- checks

    def _check_in(self, wait_ms: float) -> None:
        """Schedule the next check, in place of the one that was scheduled."""
        ports = self._manager.ports
        if self._timer is not None:
            self._timer.cancel()
        if self._is_closed:
            return
        self._timer = ports.scheduler.call_at(ports.clock.monotonic_ms() + wait_ms, self._check)

    def _check(self) -> None:
        self._check_in(max(self._config.backoff_ms, 1))
        if self._config.is_enabled and not self._is_checking:
            # The sweep counts as one of the logs that have not been assessed.
            self._is_checking, self._next_candidates, self._unassessed = True, {}, 1
            self._sweep.run(self._check_log, then=self._count_assessed)

    def _check_log(self, log: Log) -> None:
        """Run retention on a log, and then assess it; future replicas are skipped."""
        is_current = self._manager.logs.get(log.partition) is log
        if not (is_current and log.config.is_compacted and log.lease.is_free):
            return
        if self._failures.is_backing_off(log.partition, self._manager.ports.clock.monotonic_ms()):
            return
        self._unassessed += 1
        self._assess_after(apply_retention(self._manager, log), log)

    def _assess_after(self, change: Pending[None], log: Log, *, may_roll: bool = True) -> None:
        """Assess a log when a change of it has ended; an idle segment is rolled first."""

        def run(ended: Pending[None]) -> None:
            try:
                ended.result()
                candidate = self._assess_log(log)
                if candidate.is_roll_due and may_roll:
                    self._assess_after(roll(self._manager, log), log, may_roll=False)
                    return
                self._next_candidates[log.partition] = candidate
            except Exception as error:  # noqa: BLE001 - the check continues with other logs
                self._record_failure(log.partition, error)
            self._count_assessed()

        change.add_done_callback(run)

    def _count_assessed(self) -> None:
        """Count a log, or the end of the sweep; start passes after the last one."""
        self._unassessed -= 1
        if not self._unassessed and not self._is_closed:
            self._start_passes()

    def _assess_log(self, log: Log) -> LogToClean:
        """Return a log as a candidate; repair its checkpoint first."""
        manager = self._manager
        with manager.using(log):
            candidate = _assess(log, manager.ports.clock.now_ms())
        first_dirty = candidate.first_dirty
        if first_dirty.is_reset:
            manager.set_cleaned_to(log, first_dirty.offset)
        if first_dirty.warning is not None:
            manager.on_event(first_dirty.warning)
        return candidate

    def _start_passes(self) -> None:
        """Start passes of the candidates with the highest dirty ratios, up to the limit."""
        now_ms = self._manager.ports.clock.monotonic_ms()
        self._is_checking = False
        self.candidates, self.last_check_ms = self._next_candidates, now_ms
        self._failures.retain(self._manager.logs)
        for candidate in filthiest_first(self._next_candidates.values()):
            partition = candidate.facts.partition
            log = self._manager.logs.get(partition)
            if len(self._passes) >= self._config.threads:
                return
            if log is None:
                continue
            try:
                self._start_pass(log)
            except Exception as error:  # noqa: BLE001 - as above
                self._record_failure(partition, error)

    # -- a pass

    def _start_pass(self, log: Log) -> None:
        """Start a pass if the log is still due: earlier passes may have changed it."""
        ports = self._manager.ports
        if not log.lease.is_free:
            return
        candidate, now_ms = self._assess_log(log), ports.clock.now_ms()
        if not candidate.is_due:
            return
        planning = PlanningJob.of(log, candidate, now_ms=now_ms)
        running = _RunningPass(log, log.bounds.truncations, ports.clock.monotonic_ms())
        run = partial(self._run_pass, running, planning, self._config, log.directory)
        log.lease = log.lease.take(LeaseStage.CLEANING, _HOLDER)
        try:
            pending = self._worker.submit(
                partial(run, seed=ports.random.below(SEEDS)), lane=Lane.BACKGROUND
            )
        except Exception:
            log.lease = log.lease.release(_HOLDER)
            raise
        self._passes[running] = pending
        self._continue(running, pending, step=partial(self._ended, running, pending))

    def _run_pass(
        self,
        running: _RunningPass,
        planning: PlanningJob,
        config: CleanerConfig,
        directory: str,
        *,
        seed: int,
    ) -> CleaningResult | None:
        """Plan a pass and run it, on any thread; None if no segment may be cleaned."""
        plan = planning.run()
        if plan is None:
            return None
        return self._runner.run(config.job(directory, plan, seed=seed), running)

    def _continue(
        self, running: _RunningPass, pending: Pending[T], *, step: Callable[[], None]
    ) -> None:
        """Run the next step of a pass when `pending` is done; an error in it ends the pass."""

        def run() -> None:
            if running not in self._passes:
                return
            try:
                step()
            except Exception as error:  # noqa: BLE001 - the cleaner continues with other logs
                self._discard(running, error)

        pending.add_done_callback(lambda _: self._manager.options.call_soon(run))

    def _ended(self, running: _RunningPass, pending: Pending[CleaningResult | None]) -> None:
        """Swap in the result of a runner that has finished."""
        error = pending.exception()
        if error is not None or running.is_stopped():
            self._discard(running, error or CleaningStoppedError("the log has changed"))
            return
        result = pending.result()
        if result is None:
            self._release(running)
            return
        swapped = self._swapper.swap(running.log, running.replacements(result))
        self._continue(running, swapped, step=partial(self._swapped, running, result, swapped))

    def _swapped(
        self, running: _RunningPass, result: CleaningResult, swapped: Pending[None]
    ) -> None:
        log, error = running.log, swapped.exception()
        if error is None and log.bounds.truncations != running.truncations:
            error = SwapRefusedError(f"{log.partition}: the log was truncated during the swap")
        if error is not None:
            self._discard(running, error)
            return
        took_ms = self._manager.ports.clock.monotonic_ms() - running.began_ms
        # DeleteRecords may have raised the log start above the end of the pass.
        self._manager.set_cleaned_to(log, max(result.end, log.bounds.log_start))
        self._failures.clear(log.partition)
        self._on_completed(CompletedPass(log.partition, result.certificate, took_ms))
        self._release(running)
        self._check_in(0)

    def _discard(self, running: _RunningPass, error: BaseException) -> None:
        """Remove the files of a pass without a result, then release the log."""
        ports, log = self._manager.ports, running.log
        with ExitStack() as released:
            released.callback(self._release, running)
            if not (isinstance(error, _STOPPED) or running.is_stopped()):
                self._record_failure(log.partition, error)
            if self._manager.has(log):
                removed = ports.worker.submit(
                    partial(remove_cleaned, ports.files, log.directory), lane=Lane.BACKGROUND
                )
                later = released.pop_all()
                removed.add_done_callback(lambda _: self._manager.options.call_soon(later.close))

    def _record_failure(self, partition: TopicPartition, error: BaseException) -> None:
        reason = str(error) if isinstance(error, CordwoodError) else repr(error)
        failure = self._failures.record(
            partition,
            reason,
            now_ms=self._manager.ports.clock.monotonic_ms(),
            backoff_ms=self._config.backoff_ms,
        )
        self._on_failed(partition, failure)

    def _release(self, running: _RunningPass) -> None:
        """Free the place of a pass, and release the log's lease, once."""
        if self._passes.pop(running, None) is not None:
            running.log.lease = running.log.lease.release(_HOLDER)


def _assess(log: Log, now_ms: int) -> LogToClean:
    return assess(read_log_facts(log, checkpoint=log.bounds.cleaned_to), now_ms)


def _end(passes: Sequence[Pending[CleaningResult | None]], runner: CleanerRunner) -> None:
    for each in passes:
        each.exception()
    runner.close()

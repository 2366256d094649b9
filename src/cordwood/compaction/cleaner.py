"""Cleans the compacted logs of a broker, the dirtiest first, for as long as it runs.

    look     over all compacted logs, a few at a time: retention has its turn with each, and how
             dirty it is is assessed; the next look is a back-off later, or when a pass has ended
    pass     of the dirtiest one: the lease is taken, the plan made, and a runner runs it elsewhere
    swap     what the pass has made takes the place of what it has read
    clean    the checkpoint says how far the log is clean, and the lease is given back

As many passes run at a time as there are threads, one of a log. Truncation, deletion and a change
of the policy revoke the lease; a pass sees that and stops. Whatever ends a pass early, what it has
written is removed before the log can be cleaned again. A pass that fails is tried again, after
longer each time (`setbacks`), and the operator is told why.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from cordwood.compaction.choosing import Assessment, assess, choose
from cordwood.compaction.cleaner_settings import CleanerSettings
from cordwood.compaction.job import CleanerRunner, Cleaning, CleaningJob, CleaningStoppedError
from cordwood.compaction.key_hash import SEEDS
from cordwood.compaction.log_facts import facts_of, plan_of
from cordwood.compaction.setbacks import Setback, Setbacks
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Pending, Timer, Worker
from cordwood.core.types import TopicPartition
from cordwood.storage.lease import Stage
from cordwood.storage.leftovers import remove_cleaned
from cordwood.storage.log import Log
from cordwood.storage.manager import LogManager
from cordwood.storage.replacing import Replacement, SwapRefusedError
from cordwood.storage.rounds import Rounds
from cordwood.storage.swapper import Swapper

if TYPE_CHECKING:
    from cordwood.compaction.certificate import Certificate

_HOLDER: Final = "the cleaner"
_STOPPED: Final = (CleaningStoppedError, SwapRefusedError)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A pass that has come to its end: its certificate, and how long it took with its swap."""

    partition: TopicPartition
    certificate: "Certificate"
    took_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanerTools:
    """What a cleaner works with. `worker` runs passes and nothing else: they take long.

    `cleaned` and `failed` are told of every pass that has ended, on the owner's thread.
    """

    runner: CleanerRunner
    worker: Worker
    cleaned: Callable[[Cleaned], object]
    failed: Callable[[TopicPartition, Setback], object]


@dataclass(slots=True, eq=False)
class _Pass:
    """One pass under way, and what its runner asks of it, on whatever thread."""

    log: Log
    job: CleaningJob
    cuts: int
    began_ms: float
    is_over: bool = False

    def is_stopped(self) -> bool:
        return self.is_over or self.log.lease.is_revoked

    def expect(self, count: int) -> None:
        """Let it go on: nobody asks how far it is."""

    def on_bytes(self, count: int) -> None:
        """Let it go on: the pace is kept where it runs."""

    def replacements(self, cleaning: Cleaning) -> list[Replacement]:
        return [
            Replacement(
                group.replaced, tuple(each.base_offset for each in group.cleaned), self.cuts
            )
            for group in cleaning.groups
        ]


class LogCleaner:
    """Cleans the logs of a manager from `start` to `close`; to be closed before the manager."""

    def __init__(self, manager: LogManager, tools: CleanerTools, settings: CleanerSettings) -> None:
        self._manager = manager
        self._tools = tools
        self._settings = settings
        self._rounds = Rounds(manager)
        self._swapper = Swapper(manager)
        self._setbacks = Setbacks()
        self._passes: dict[_Pass, Pending[Cleaning]] = {}
        self._found: dict[TopicPartition, Assessment] = {}
        self._timer: Timer | None = None
        self._is_looking = False
        self.assessed: Mapping[TopicPartition, Assessment] = {}
        self.last_look_ms: float = manager.tools.clock.monotonic_ms()

    @property
    def setbacks(self) -> Mapping[TopicPartition, Setback]:
        """The logs whose last pass has failed."""
        return self._setbacks.known

    def start(self) -> None:
        """Begin."""
        self.adopt(self._settings)

    def adopt(self, settings: CleanerSettings) -> None:
        """Go on by other settings: passes that run end as they have begun."""
        self._settings = settings
        self._tools.runner.limit(settings.bytes_per_second)
        self._look_in(0)

    def close(self) -> None:
        """Stop what is at work, and wait for that; what it has made so far is not used."""
        self._rounds.stop()
        if self._timer is not None:
            self._timer.cancel()
        passes, self._passes = self._passes, {}
        for each in passes:
            each.is_over = True
        for pending in passes.values():
            pending.exception()
        self._tools.runner.close()

    # -- looking

    def _look_in(self, wait_ms: float) -> None:
        """Have the next look then, and no other before."""
        tools = self._manager.tools
        if self._timer is not None:
            self._timer.cancel()
        self._timer = tools.scheduler.call_at(tools.clock.monotonic_ms() + wait_ms, self._look)

    def _look(self) -> None:
        self._look_in(max(self._settings.backoff_ms, 1))
        if self._settings.is_enabled and not self._is_looking:
            self._is_looking, self._found = True, {}
            self._rounds.go(self._look_at, then=self._begin_passes)

    def _look_at(self, log: Log) -> None:
        """Note how dirty a log is, after retention has had its turn; copies are passed over."""
        is_current = self._manager.logs.get(log.partition) is log
        if not (is_current and log.config.is_compacted and log.lease.is_free):
            return
        if self._setbacks.is_waiting(log.partition, self._manager.tools.clock.monotonic_ms()):
            return
        try:
            self._manager.retain(log)
            self._found[log.partition] = self._assessed(log)
        except Exception as error:  # noqa: BLE001 - the look is ours, and goes on with other logs
            self._note(log.partition, error)

    def _assessed(self, log: Log) -> Assessment:
        """Return how dirty a log is, its checkpoint put right and its active segment rolled."""
        manager = self._manager
        with manager.using(log):
            assessment = _assess(log, manager.tools.clock.now_ms())
            if assessment.is_roll_due:
                log.roll()
                assessment = _assess(log, manager.tools.clock.now_ms())
        first_dirty = assessment.first_dirty
        if first_dirty.is_reset:
            manager.cleaned(log, first_dirty.offset)
        if first_dirty.warning is not None:
            manager.tools.on_event(first_dirty.warning)
        return assessment

    def _begin_passes(self) -> None:
        """Begin as many passes as may run, of the dirtiest logs."""
        now_ms = self._manager.tools.clock.monotonic_ms()
        self._is_looking, self.assessed, self.last_look_ms = False, self._found, now_ms
        self._setbacks.keep(self._manager.logs)
        for assessment in choose(self._found.values()):
            partition = assessment.facts.partition
            log = self._manager.logs.get(partition)
            if len(self._passes) >= self._settings.threads:
                return
            if log is None:
                continue
            try:
                self._begin(log)
            except Exception as error:  # noqa: BLE001 - as above
                self._note(partition, error)

    # -- a pass

    def _begin(self, log: Log) -> None:
        """Begin a pass, if the log is still to be cleaned: others have had their turns."""
        tools = self._manager.tools
        if not log.lease.is_free:
            return
        assessment, now_ms = self._assessed(log), tools.clock.now_ms()
        with self._manager.using(log):
            plan = plan_of(log, assessment, now_ms=now_ms) if assessment.is_due else None
        if plan is None:
            return
        log.lease = log.lease.take(Stage.CLEANING, _HOLDER)
        job = self._settings.job(log.directory, plan, seed=tools.random.below(SEEDS))
        begun = _Pass(log, job, log.bounds.cuts, tools.clock.monotonic_ms())
        pending = self._tools.worker.submit(lambda: self._tools.runner.run(job, begun))
        self._passes[begun] = pending
        pending.add_done_callback(lambda _: tools.call_soon(partial(self._ended, begun)))

    def _ended(self, each: _Pass) -> None:
        """A runner has done what it could: swap in what it has made."""
        pending = self._passes.get(each)
        if pending is None:
            return
        error = pending.exception()
        if error is not None or each.is_stopped():
            self._undo(each, error or CleaningStoppedError("the log has changed"))
            return
        cleaning = pending.result()
        swapped = self._swapper.swap(each.log, each.replacements(cleaning))
        call_soon = self._manager.tools.call_soon
        swapped.add_done_callback(
            lambda ended: call_soon(lambda: self._swapped(each, cleaning, ended.exception()))
        )

    def _swapped(self, each: _Pass, cleaning: Cleaning, error: BaseException | None) -> None:
        log = each.log
        if each not in self._passes:
            return
        if error is None and log.bounds.cuts != each.cuts:
            error = SwapRefusedError(f"{log.partition} has been cut")
        if error is not None:
            self._undo(each, error)
            return
        took_ms = self._manager.tools.clock.monotonic_ms() - each.began_ms
        self._manager.cleaned(log, cleaning.end)
        self._setbacks.clear(log.partition)
        self._release(each)
        self._tools.cleaned(Cleaned(log.partition, cleaning.certificate, took_ms))
        self._look_in(0)

    def _undo(self, each: _Pass, error: BaseException) -> None:
        """Remove what a pass has written that comes to nothing, then let the log be free."""
        if not (isinstance(error, _STOPPED) or each.is_stopped()):
            self._note(each.log.partition, error)
        tools = self._manager.tools
        if not self._manager.has(each.log):
            self._release(each)
            return
        removal = partial(remove_cleaned, tools.files, each.log.directory)
        tools.worker.submit(removal).add_done_callback(
            lambda _: tools.call_soon(partial(self._release, each))
        )

    def _note(self, partition: TopicPartition, error: BaseException) -> None:
        reason = str(error) if isinstance(error, CordwoodError) else repr(error)
        setback = self._setbacks.note(
            partition,
            reason,
            now_ms=self._manager.tools.clock.monotonic_ms(),
            backoff_ms=self._settings.backoff_ms,
        )
        self._tools.failed(partition, setback)

    def _release(self, each: _Pass) -> None:
        """Let the next pass have the place of one, and others the log."""
        self._passes.pop(each, None)
        each.log.lease = each.log.lease.release(_HOLDER)


def _assess(log: Log, now_ms: int) -> Assessment:
    return assess(facts_of(log, checkpoint=log.bounds.cleaned_to), now_ms)

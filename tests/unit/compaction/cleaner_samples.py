"""A cleaner over logs in memory; its passes retain only the last batch of each group."""

import threading
from collections.abc import Callable
from dataclasses import replace

from cordwood.compaction.certificate import Certificate, PassCounts
from cordwood.compaction.cleaner_config import CleanerConfig
from cordwood.compaction.cleaning_failures import CleaningFailure
from cordwood.compaction.cleaning_job import (
    CleanedGroup,
    CleanedSegment,
    CleaningJob,
    CleaningResult,
    CleaningStoppedError,
    PassControl,
)
from cordwood.compaction.log_cleaner import CompletedPass, LogCleaner
from cordwood.compaction.plan.candidates import assess
from cordwood.compaction.plan.cleaning_plan import SourceSegment
from cordwood.compaction.plan.log_facts import PlanningJob, read_log_facts
from cordwood.core.ports import Worker
from cordwood.core.types import TopicPartition
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.manager.log_manager import ManagerSettings
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.cleaned_samples import write_cleaned
from tests.unit.storage.log_samples import filled, headers_of
from tests.unit.storage.manager_samples import HeldWorker, LogManagerHarness, create_logs, partition

COMPACTED = LogConfig(
    cleanup_policy=frozenset({COMPACT}), segment_index_bytes=1200, index_interval_bytes=0
)
BACKOFF_MS = 15_000


class LastBatches:
    """A runner in the caller's thread; `jobs` are the jobs that it has run."""

    def __init__(self, files: MemoryFiles) -> None:
        self.files = files
        self.jobs: list[CleaningJob] = []
        self.errors: list[Exception] = []
        self.meanwhile = list[Callable[[], object]]()
        self.altered: Callable[[CleaningResult], CleaningResult] = lambda result: result
        self.bytes_per_second = 0.0
        self.is_closed = False

    def run(self, job: CleaningJob, control: PassControl) -> CleaningResult:
        self.jobs.append(job)
        groups = tuple(self._cleaned(job, group) for group in job.plan.groups)
        control.on_bytes(1)
        for call in self.meanwhile:
            call()
        if self.errors:
            raise self.errors.pop(0)
        if control.is_stopped():
            raise CleaningStoppedError("the control has stopped it")
        return self.altered(CleaningResult(groups, job.plan.end, certificate_of(job)))

    def _cleaned(self, job: CleaningJob, group: tuple[SourceSegment, ...]) -> CleanedGroup:
        base = group[0].base_offset
        data = self._last_batch(job.directory, group[-1])
        write_cleaned(self.files, job.directory, base, data)
        replaced = tuple(each.base_offset for each in group)
        return CleanedGroup(replaced, (CleanedSegment(base, len(data)),))

    def _last_batch(self, directory: str, source: SourceSegment) -> bytes:
        file = self.files.open(f"{directory}/{source.base_offset:020}.log")
        data = file.pread(source.size, 0)
        file.close()
        return data[headers_of(data)[-1].position :]

    def limit(self, bytes_per_second: float) -> None:
        self.bytes_per_second = bytes_per_second

    def close(self) -> None:
        self.is_closed = True


def certificate_of(job: CleaningJob) -> Certificate:
    plan = job.plan
    return Certificate(
        partition=str(plan.partition),
        first_dirty=plan.first_dirty,
        end=plan.end,
        now_ms=plan.now_ms,
        segments_before=len(plan.segments),
        segments_after=len(plan.groups),
        keys=1,
        ranges=1,
        counts=PassCounts(bytes_read=300, bytes_kept=100),
    )


class CleanerHarness:
    """A log manager with a cleaner, and the reports of the cleaner."""

    def __init__(
        self,
        *,
        worker: Worker | None = None,
        config: LogConfig = COMPACTED,
        settings: CleanerConfig = CleanerConfig(),  # noqa: B008 - an immutable value
    ) -> None:
        self.house = LogManagerHarness("/a", config=config)
        self.manager = self.house.load()
        self.runner = LastBatches(self.house.files)
        self.cleaned = list[CompletedPass]()
        self.report_errors = list[Exception]()
        self.failed = list[tuple[TopicPartition, CleaningFailure]]()
        self.cleaner = LogCleaner(
            self.manager,
            settings,
            runner=self.runner,
            worker=worker or InlineWorker(),
            on_completed=self._report,
            on_failed=lambda where, failure: self.failed.append((where, failure)),
        )

    def _report(self, completed: CompletedPass) -> None:
        """Keep the report of a pass, or fail with the next of `report_errors`."""
        if self.report_errors:
            raise self.report_errors.pop()
        self.cleaned.append(completed)

    def log(self, number: int = 0, *, segments: int = 3) -> Log:
        """Return a log of closed segments with two batches each, and an active one."""
        log = create_logs(self.manager, number)[0]
        for _ in range(segments):
            filled(log, 2).roll()
        return filled(log, 1)

    def pass_time(self, ms: float = BACKOFF_MS) -> None:
        self.house.clock.advance(ms=ms)

    def configure(self, **changes: object) -> None:
        """Apply other settings to the topic."""
        config = replace(self.house.config, **changes)  # type: ignore[arg-type]  # names from the test
        self.manager.settings = ManagerSettings(config_for=lambda _: config)
        for log in self.manager.logs_of(partition().topic):
            self.manager.reconfigure(log)


def held() -> tuple[CleanerHarness, HeldWorker]:
    """Return a harness whose passes wait until the test releases them."""
    worker = HeldWorker()
    return CleanerHarness(worker=worker), worker


class Control:
    """A control that stops a pass when `stop` is set."""

    def __init__(self) -> None:
        self.stop = threading.Event()

    def is_stopped(self) -> bool:
        return self.stop.is_set()

    def expect(self, count: int) -> None:
        """Ignore the bytes."""

    def on_bytes(self, count: int) -> None:
        """Ignore the bytes."""


def job_of(harness: CleanerHarness) -> CleaningJob:
    """Return a pass over a log of three closed segments."""
    log, now_ms = harness.log(), harness.house.clock.now_ms()
    plan = PlanningJob.of(
        log, assess(read_log_facts(log, checkpoint=None), now_ms), now_ms=now_ms
    ).run()
    assert plan is not None
    return CleaningJob(
        directory=log.directory, plan=plan, memory_bytes=1 << 20, io_buffer_bytes=1 << 16
    )

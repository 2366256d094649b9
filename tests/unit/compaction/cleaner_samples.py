"""A cleaner over logs in memory, whose passes leave of each group its last batch."""

import threading
from collections.abc import Callable
from dataclasses import replace

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.choosing import assess
from cordwood.compaction.cleaner import Cleaned, CleanerTools, LogCleaner
from cordwood.compaction.cleaner_settings import CleanerSettings
from cordwood.compaction.engine import Counts
from cordwood.compaction.job import (
    CleanedGroup,
    CleanedSegment,
    Cleaning,
    CleaningJob,
    CleaningStoppedError,
    PassControl,
)
from cordwood.compaction.log_facts import facts_of, plan_of
from cordwood.compaction.plan import SourceSegment
from cordwood.compaction.setbacks import Setback
from cordwood.core.ports import Worker
from cordwood.core.types import TopicPartition
from cordwood.storage.log import Log
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.stock import ManagerSettings
from cordwood.testing.files import MemoryFiles
from cordwood.testing.worker import InlineWorker
from tests.unit.storage.cleaned_samples import write_cleaned
from tests.unit.storage.log_samples import filled, headers_of
from tests.unit.storage.manager_samples import HeldWorker, House, made, partition

COMPACTED = LogConfig(
    cleanup_policy=frozenset({COMPACT}), segment_index_bytes=1200, index_interval_bytes=0
)
BACKOFF_MS = 15_000


class LastBatches:
    """A runner that makes a pass where it is called; `jobs` are those that it was given."""

    def __init__(self, files: MemoryFiles) -> None:
        self.files = files
        self.jobs: list[CleaningJob] = []
        self.errors: list[Exception] = []
        self.meanwhile = list[Callable[[], object]]()
        self.bytes_per_second = 0.0
        self.is_closed = False

    def run(self, job: CleaningJob, control: PassControl) -> Cleaning:
        self.jobs.append(job)
        groups = tuple(self._cleaned(job, group) for group in job.plan.groups)
        control.on_bytes(1)
        for call in self.meanwhile:
            call()
        if self.errors:
            raise self.errors.pop(0)
        if control.is_stopped():
            raise CleaningStoppedError("it was told to stop")
        return Cleaning(groups, job.plan.end, certificate_of(job))

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
        counts=Counts(bytes_read=300, bytes_kept=100),
    )


class Home:
    """A house with a cleaner, and what that has told."""

    def __init__(
        self,
        *,
        worker: Worker | None = None,
        config: LogConfig = COMPACTED,
        settings: CleanerSettings = CleanerSettings(),  # noqa: B008 - a value that cannot change
    ) -> None:
        self.house = House("/a", config=config)
        self.manager = self.house.load()
        self.runner = LastBatches(self.house.files)
        self.cleaned = list[Cleaned]()
        self.failed = list[tuple[TopicPartition, Setback]]()
        tools = CleanerTools(
            runner=self.runner,
            worker=worker or InlineWorker(),
            cleaned=self.cleaned.append,
            failed=lambda where, setback: self.failed.append((where, setback)),
        )
        self.cleaner = LogCleaner(self.manager, tools, settings)

    def log(self, number: int = 0, *, segments: int = 3) -> Log:
        """Return a log of so many closed segments of two batches each, and an active one."""
        log = made(self.manager, number)[0]
        for _ in range(segments):
            filled(log, 2).roll()
        return filled(log, 1)

    def pass_time(self, ms: float = BACKOFF_MS) -> None:
        self.house.clock.advance(ms=ms)

    def configure(self, **changes: object) -> None:
        """Let the topic live by other settings."""
        config = replace(self.house.config, **changes)  # type: ignore[arg-type]  # by the test's word
        self.manager.adopt(ManagerSettings(config_for=lambda _: config))
        for log in self.manager.logs_of(partition().topic):
            self.manager.renew(log)


def held() -> tuple[Home, HeldWorker]:
    """Return a home whose passes wait to be told to go on."""
    worker = HeldWorker()
    return Home(worker=worker), worker


class Control:
    """Lets a pass run, until it is to stop."""

    def __init__(self) -> None:
        self.stop = threading.Event()

    def is_stopped(self) -> bool:
        return self.stop.is_set()

    def expect(self, count: int) -> None:
        """Nothing is counted here."""

    def on_bytes(self, count: int) -> None:
        """Nothing is counted here."""


def job_of(home: Home) -> CleaningJob:
    """Return a pass over a log of three closed segments."""
    log, now_ms = home.log(), home.house.clock.now_ms()
    plan = plan_of(log, assess(facts_of(log, checkpoint=None), now_ms), now_ms=now_ms)
    assert plan is not None
    return CleaningJob(
        directory=log.directory, plan=plan, memory_bytes=1 << 20, io_buffer_bytes=1 << 16
    )

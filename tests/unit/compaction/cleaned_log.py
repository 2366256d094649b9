"""A log in memory that tests clean repeatedly, with the owner's swap."""

from typing import TYPE_CHECKING

from cordwood.compaction.cleaning_job import CleaningJob, CleaningResult, Verify
from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import run_pass
from cordwood.compaction.passes.pass_verification import verify_pass
from cordwood.compaction.plan.candidates import assess
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.plan.log_facts import PlanningJob, read_log_facts
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.core.types import Offset
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log_append import AppendResult
from cordwood.storage.log.segment_swap import SegmentReplacement
from cordwood.storage.log_config import LogConfig
from tests.unit.compaction.compaction_samples import marker, sent, texts
from tests.unit.storage.log_samples import (
    DIRECTORY,
    LogHarness,
    bytes_of,
    follow,
    headers_of,
    lead,
    read,
)

if TYPE_CHECKING:
    from cordwood.core.ports import Worker

#: The topic is not compacted yet, so that it accepts records without a key.
CONFIG = LogConfig(
    delete_retention_ms=1000,
    segment_index_bytes=1200,
    index_interval_bytes=0,
)
MEMORY = 1 << 20
IO_BUFFER = 1 << 12


class Watched:
    """A control that stops a pass after some steps, and counts its bytes, and the expected ones."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.bytes = 0
        self.expected = 0
        self._left = stop_after

    def is_stopped(self) -> bool:
        if self._left is not None:
            self._left -= 1
        return self._left is not None and self._left < 0

    def expect(self, count: int) -> None:
        self.expected += count

    def on_bytes(self, count: int) -> None:
        self.bytes += count


class CleanedLog:
    """A log, its cleaner checkpoint, and the options of its passes; all keys are verified."""

    def __init__(self, config: LogConfig = CONFIG, *, engine: Engine = PLAIN) -> None:
        self.place = LogHarness()
        self.log = self.place.open(config)
        self.engine = engine
        self.first_dirty: int | None = None
        self._sequences: dict[int, int] = {}
        self.memory_bytes = MEMORY
        self.io_buffer_bytes = IO_BUFFER
        self.verify = Verify.ALWAYS
        self.worker: Worker | None = None

    def put(
        self, *sets: bytes, is_rolled: bool = False, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> None:
        """Append record sets as a leader; roll the segment after them if `is_rolled`."""
        lead(self.log, *sets, origin=origin)
        self.log.set_high_watermark(self.log.bounds.log_end)
        if is_rolled:
            self.log.roll()

    def send(self, text: str, *, producer: int = 1, is_transactional: bool = True) -> AppendResult:
        """Append a batch of a producer, with its next sequence number."""
        sequence = self._sequences.get(producer, 0)
        self._sequences[producer] = sequence + len(text.split())
        return self.send_again(
            text, producer=producer, sequence=sequence, is_transactional=is_transactional
        )

    def send_again(
        self, text: str, *, producer: int = 1, sequence: int, is_transactional: bool = True
    ) -> AppendResult:
        """Append a batch of a producer."""
        data = sent(
            0, text, producer=producer, sequence=sequence, is_transactional=is_transactional
        )
        result = lead(self.log, data)
        self.log.set_high_watermark(self.log.bounds.log_end)
        return result

    def follow(self, *data: bytes) -> None:
        """Append batches as a follower, with their own offsets."""
        follow(self.log, *data)
        self.log.set_high_watermark(self.log.bounds.log_end)

    def end(self, producer: int, *, is_commit: bool, is_rolled: bool = False) -> None:
        """End a producer's transaction."""
        data = marker(0, producer=producer, is_commit=is_commit)
        self.put(data, is_rolled=is_rolled, origin=AppendOrigin.COORDINATOR)

    def wait(self, milliseconds: int) -> None:
        """Advance the clock."""
        self.place.clock.advance(ms=milliseconds)

    def plan(self, options: PassOptions = PassOptions()) -> CleaningPlan | None:  # noqa: B008 - an immutable value
        """Return the plan of a pass over the cleanable part of the log."""
        now = self.place.clock.now_ms()
        assessment = assess(read_log_facts(self.log, checkpoint=self.first_dirty), now)
        return PlanningJob.of(self.log, assessment, now_ms=now).run(options)

    def job(self, plan: CleaningPlan) -> CleaningJob:
        return CleaningJob(
            directory=DIRECTORY,
            plan=plan,
            memory_bytes=self.memory_bytes,
            io_buffer_bytes=self.io_buffer_bytes,
            verify=self.verify,
        )

    def clean(self, options: PassOptions = PassOptions()) -> CleaningResult:  # noqa: B008 - an immutable value
        """Run a pass, swap in its segments, and advance the checkpoint."""
        plan = self.plan(options)
        assert plan is not None, "there is something to clean"
        cleaning = self.run(plan)
        for group in cleaning.groups:
            cleaned = tuple(each.base_offset for each in group.cleaned)
            replacement = SegmentReplacement(group.replaced, cleaned, self.log.bounds.truncations)
            self.log.begin_swap(replacement).finish()
        self.first_dirty = cleaning.end
        return cleaning

    def run(self, plan: CleaningPlan, control: Watched | None = None) -> CleaningResult:
        """Run a pass without the swap."""
        return self.run_job(self.job(plan), control)

    def run_job(self, job: CleaningJob, control: Watched | None = None) -> CleaningResult:
        """Run a job without the swap."""
        return run_pass(
            job,
            self.place.files,
            engine=self.engine,
            control=control or Watched(),
            worker=self.worker,
        )

    def prove(
        self, job: CleaningJob, cleaning: CleaningResult, *, control: Watched | None = None
    ) -> CleaningResult:
        """Verify the result of a pass."""
        return verify_pass(
            job,
            cleaning,
            files=self.place.files,
            judges=self.engine.judges,
            control=control or Watched(),
        )

    def reopened(self) -> None:
        """Close the log cleanly, and open it again."""
        config, end = self.log.config, self.log.bounds.log_end
        self.log.close()
        self.log = self.place.open(config, recovery_point=end, high_watermark=end)

    @property
    def data(self) -> bytes:
        """All batches, as a follower reads them."""
        data, offset = b"", self.log.bounds.log_start
        while (part := bytes_of(read(self.log, offset))) != b"":
            data += part
            offset = Offset(headers_of(part)[-1].next_offset)
        return data

    @property
    def batches(self) -> list[AnyBatch]:
        return list(batches(self.data))

    @property
    def texts(self) -> list[str]:
        """The records as words, each with its offset in front."""
        return texts(self.data)

    @property
    def last_offsets(self) -> list[int]:
        """The last offsets of all batches, including markers and empty ones."""
        return [each.last_offset for each in self.batches]

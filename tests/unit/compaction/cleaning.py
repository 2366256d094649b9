"""A log in memory that is cleaned again and again, with the swap of its owner."""

from typing import TYPE_CHECKING

from cordwood.compaction.choosing import assess
from cordwood.compaction.engine import Engine
from cordwood.compaction.job import Cleaning, CleaningJob, Verify
from cordwood.compaction.log_facts import facts_of, plan_of
from cordwood.compaction.passes import run_pass
from cordwood.compaction.plain import PLAIN
from cordwood.compaction.plan import CleaningPlan
from cordwood.compaction.planning import Wishes
from cordwood.compaction.proving import prove
from cordwood.core.types import Offset
from cordwood.records.stream import AnyBatch, batches
from cordwood.storage.appending import AppendResult
from cordwood.storage.log_config import LogConfig
from cordwood.storage.origin import Origin
from cordwood.storage.replacing import Replacement
from tests.unit.compaction.compaction_samples import marker, sent, texts
from tests.unit.storage.log_samples import (
    DIRECTORY,
    Place,
    bytes_of,
    follow,
    headers_of,
    lead,
    read,
)

if TYPE_CHECKING:
    from cordwood.core.ports import Worker

#: Of a topic that is not compacted yet: so records without a key are taken, too.
CONFIG = LogConfig(
    delete_retention_ms=1000,
    segment_index_bytes=1200,
    index_interval_bytes=0,
)
MEMORY = 1 << 20
IO_BUFFER = 1 << 12


class Watched:
    """Lets a pass go on for some steps, and counts what it has read and written, and was to."""

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
    """A log, the cleaner's checkpoint, and how it is cleaned: verified, if nothing else is said."""

    def __init__(self, config: LogConfig = CONFIG, *, engine: Engine = PLAIN) -> None:
        self.place = Place()
        self.log = self.place.open(config)
        self.engine = engine
        self.first_dirty: int | None = None
        self._sequences: dict[int, int] = {}
        self.memory_bytes = MEMORY
        self.io_buffer_bytes = IO_BUFFER
        self.verify = Verify.ALWAYS
        self.worker: Worker | None = None

    def put(self, *sets: bytes, is_rolled: bool = False, origin: Origin = Origin.CLIENT) -> None:
        """Append sets as a leader; if it is rolled, what follows begins a segment."""
        lead(self.log, *sets, origin=origin)
        self.log.set_high_watermark(self.log.bounds.log_end)
        if is_rolled:
            self.log.roll()

    def send(self, text: str, *, producer: int = 1, is_transactional: bool = True) -> AppendResult:
        """Append a batch of a producer, with the sequence that comes next."""
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
        """Append batches as they are, with the offsets that they have."""
        follow(self.log, *data)
        self.log.set_high_watermark(self.log.bounds.log_end)

    def end(self, producer: int, *, is_commit: bool, is_rolled: bool = False) -> None:
        """End a producer's transaction."""
        data = marker(0, producer=producer, is_commit=is_commit)
        self.put(data, is_rolled=is_rolled, origin=Origin.COORDINATOR)

    def wait(self, milliseconds: int) -> None:
        """Let time pass."""
        self.place.clock.advance(ms=milliseconds)

    def plan(self, wishes: Wishes = Wishes()) -> CleaningPlan | None:  # noqa: B008 - cannot change
        """Return the plan of a pass over all that may be cleaned."""
        now = self.place.clock.now_ms()
        assessment = assess(facts_of(self.log, checkpoint=self.first_dirty), now)
        return plan_of(self.log, assessment, now_ms=now, wishes=wishes)

    def job(self, plan: CleaningPlan) -> CleaningJob:
        return CleaningJob(
            directory=DIRECTORY,
            plan=plan,
            memory_bytes=self.memory_bytes,
            io_buffer_bytes=self.io_buffer_bytes,
            verify=self.verify,
        )

    def clean(self, wishes: Wishes = Wishes()) -> Cleaning:  # noqa: B008 - cannot change
        """Do a pass, swap in what it has made, and raise the checkpoint."""
        plan = self.plan(wishes)
        assert plan is not None, "there is something to clean"
        cleaning = self.run(plan)
        for group in cleaning.groups:
            cleaned = tuple(each.base_offset for each in group.cleaned)
            replacement = Replacement(group.replaced, cleaned, self.log.bounds.cuts)
            self.log.begin_replacing(replacement).finish()
        self.first_dirty = cleaning.end
        return cleaning

    def run(self, plan: CleaningPlan, control: Watched | None = None) -> Cleaning:
        """Do a pass, and swap nothing in."""
        return self.run_job(self.job(plan), control)

    def run_job(self, job: CleaningJob, control: Watched | None = None) -> Cleaning:
        """Do what a job says, and swap nothing in."""
        return run_pass(
            job,
            self.place.files,
            engine=self.engine,
            control=control or Watched(),
            worker=self.worker,
        )

    def prove(
        self, job: CleaningJob, cleaning: Cleaning, *, control: Watched | None = None
    ) -> Cleaning:
        """Prove what a pass has made."""
        return prove(
            job,
            cleaning,
            files=self.place.files,
            judges=self.engine.judges,
            control=control or Watched(),
        )

    def reopened(self) -> None:
        """Close the log in order, and open it again."""
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
        """Where the batches end, markers and empty ones included."""
        return [each.last_offset for each in self.batches]

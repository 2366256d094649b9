"""A compacted partition in memory, and the order to compact it."""

from copy import copy

from cordwood.compaction.cleaning_job import Verify
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.core.ports import Ports
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.records.state_scan import PlainStateScanner
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.compact import CompactOrder, CompactReport, compact, plan_compaction
from cordwood.workbench.record_digest import RecordReaders
from cordwood.workbench.topic_settings_lookup import FoundSettings, SettingsFinder
from tests.unit.compaction.compaction_samples import batch, texts
from tests.unit.storage.cleaned_samples import batches_of
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, lead

#: Readers in plain Python.
PLAIN_READERS = RecordReaders(PlainDecoder(), PlainStateScanner())

CONFIG = LogConfig(segment_index_bytes=1200, index_interval_bytes=0)


class IdlePassControl:
    """The control of a pass that is never stopped."""

    def is_stopped(self) -> bool:
        return False

    def expect(self, count: int) -> None:
        """Do nothing."""

    def on_bytes(self, count: int) -> None:
        """Do nothing."""


class CompactedPartition:
    """A partition with segments of the given records (see `compaction_samples.words`)."""

    def __init__(self, *segments: str) -> None:
        self.place = LogHarness()
        log = self.place.open(CONFIG)
        for number, text in enumerate(segments):
            if number:
                log.roll()
            lead(log, batch(0, text))
        log.set_high_watermark(log.bounds.log_end)
        log.close()

    @property
    def ports(self) -> Ports:
        place = self.place
        return Ports(files=place.files, clock=place.clock, random=place.random)

    def compact(self, order: CompactOrder, found: FoundSettings | None = None) -> CompactReport:
        """Compact the partition."""
        runner = InlineRunner(self.place.files, PLAIN)
        return compact(
            self.ports,
            DIRECTORY,
            found=found or self.settings(),
            order=order,
            readers=PLAIN_READERS,
            run=lambda job: runner.run(job, IdlePassControl()),
        )

    def plan(self, order: CompactOrder, found: FoundSettings | None = None) -> CompactReport:
        """Return the plan without compacting."""
        found = found or self.settings()
        return plan_compaction(
            self.ports, DIRECTORY, found=found, order=order, decoder=PlainDecoder()
        )

    def moved_to(self, files: MemoryFiles) -> "CompactedPartition":
        """Return the partition with other files, as after a crash."""
        moved = copy(self)
        moved.place = copy(self.place)
        moved.place.files = files
        return moved

    def settings(self, **texts: str) -> FoundSettings:
        """Return settings of the topic; by default it is compacted."""
        given = {"cleanup.policy": "compact", "segment.index.bytes": "1200"} | {
            key.replace("_", "."): text for key, text in texts.items()
        }
        return SettingsFinder(self.place.files, given=given).find("/d", "t")

    def records(self) -> list[str]:
        """Return the records that a broker reads, as `compaction_samples.texts` formats them."""
        log = self.place.open(CONFIG, is_clean=False)
        found = texts(b"".join(batches_of(log).values()))
        log.close()
        return found

    def write(self, name: str, text: str) -> None:
        """Create a file in the log directory."""
        self.place.files.create(f"/d/{name}").append(text.encode())

    def read(self, name: str) -> str:
        file = self.place.files.open(f"/d/{name}")
        return file.pread(file.size, 0).decode()


def order(*erased: bytes, until: int | None = None, **more: bool) -> CompactOrder:
    """Return an order that verifies all keys."""
    pass_options = PassOptions(until=until, erased_keys=frozenset(erased))
    return CompactOrder(pass_options=pass_options, verify=Verify.ALWAYS, **more)

"""A log directory in memory whose one partition is compacted, and what compacting works with."""

from copy import copy

from cordwood.compaction.job import Verify
from cordwood.compaction.passes import InlineRunner
from cordwood.compaction.plain import PLAIN
from cordwood.compaction.planning import Wishes
from cordwood.records.plain import PlainDecoder
from cordwood.storage.log_config import LogConfig
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.compact import CompactOrder, CompactTools
from cordwood.workbench.settings_found import FoundSettings, SettingsFinder
from tests.unit.compaction.compaction_samples import batch, texts
from tests.unit.storage.cleaned_samples import batches_of
from tests.unit.storage.log_samples import Place, lead

CONFIG = LogConfig(segment_index_bytes=1200, index_interval_bytes=0)


class Unhindered:
    """A pass that nobody stops or slows down."""

    def is_stopped(self) -> bool:
        return False

    def expect(self, count: int) -> None:
        """Take no notice."""

    def on_bytes(self, count: int) -> None:
        """Take no notice."""


class Shelf:
    """Segments of these records, as `compaction_samples.words` has them; the last one is active."""

    def __init__(self, *segments: str) -> None:
        self.place = Place()
        log = self.place.open(CONFIG)
        for number, text in enumerate(segments):
            if number:
                log.roll()
            lead(log, batch(0, text))
        log.set_high_watermark(log.bounds.log_end)
        log.close()

    @property
    def tools(self) -> CompactTools:
        """What compacting works with."""
        return CompactTools(
            files=self.place.files,
            clock=self.place.clock,
            random=self.place.random,
            runner=InlineRunner(self.place.files, PLAIN),
            control=Unhindered(),
            decoder=PlainDecoder(),
        )

    def moved_to(self, files: MemoryFiles) -> "Shelf":
        """Return the same with other files, as after a crash."""
        moved = copy(self)
        moved.place = copy(self.place)
        moved.place.files = files
        return moved

    def settings(self, **texts: str) -> FoundSettings:
        """Return what is given of the topic's settings: that it is compacted, unless it is said."""
        given = {"cleanup.policy": "compact", "segment.index.bytes": "1200"} | {
            key.replace("_", "."): text for key, text in texts.items()
        }
        return SettingsFinder(self.place.files, given=given).of("/d", "t")

    def records(self) -> list[str]:
        """Return what a broker that opens the log finds, as `compaction_samples.texts` does."""
        log = self.place.open(CONFIG, is_clean=False)
        found = texts(b"".join(batches_of(log).values()))
        log.close()
        return found

    def write(self, name: str, text: str) -> None:
        """Put a file beside the partition."""
        self.place.files.create(f"/d/{name}").append(text.encode())

    def read(self, name: str) -> str:
        file = self.place.files.open(f"/d/{name}")
        return file.pread(file.size, 0).decode()


def order(*erased: bytes, until: int | None = None, **more: bool) -> CompactOrder:
    """Return an order that has all keys verified."""
    wishes = Wishes(until=until, erased_keys=frozenset(erased))
    return CompactOrder(wishes=wishes, verify=Verify.ALWAYS, **more)

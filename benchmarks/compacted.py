"""A log that is compacted repeatedly: each time on fresh links to the same files."""

import resource
import shutil
from pathlib import Path
from time import perf_counter, process_time
from typing import Final, NamedTuple

from benchmarks.keyed_log import KeyedLog, write
from cordwood.compaction.cleaning_job import Verify
from cordwood.compaction.kernels import engine
from cordwood.core.ports import Worker
from cordwood.core.system import SystemFiles
from cordwood.storage.log_config import LogConfig
from cordwood.workbench.compact import CompactOrder
from cordwood.workbench.reindex import reindex
from tests.interop.kafka_harness import our_cleaning

NOW_MS: Final = 1_700_000_000_000
CONFIG: Final = {"cleanup.policy": "compact"}
MEMORY: Final = 128 << 20
_SEGMENT_BYTES: Final = 100 << 20


class Spent(NamedTuple):
    """The cost of the passes over a log until nothing was dirty, and the peak memory."""

    seconds: float
    processor: float
    passes: int
    peak_mib: float


class Place(NamedTuple):
    """A log, indexed, that is never changed: what is cleaned are links to it."""

    directory: Path
    end: int
    size: int

    def linked(self, folder: Path) -> Path:
        """Return a directory with links to the segments, and copies of what an owner may change."""
        shutil.rmtree(folder, ignore_errors=True)
        copy = folder / "t-0"
        copy.mkdir(parents=True)
        for path in self.directory.iterdir():
            if path.suffix == ".log" and path.stat().st_size:
                (copy / path.name).hardlink_to(path)
            else:
                shutil.copy2(path, copy)
        our_cleaning.place_beside(copy, bounds=self.bounds, cleaned_to=-1)
        return copy

    @property
    def bounds(self) -> dict[str, int]:
        return {"log_start": 0, "high_watermark": self.end, "recovery_point": self.end}


def placed(folder: Path, log: KeyedLog) -> Place:
    """Write a log, and close its last segment."""
    directory = folder / "made" / "t-0"
    written = write(log, directory, segment_bytes=_SEGMENT_BYTES)
    (directory / f"{written.end_offset:020}.log").touch()
    reindex(SystemFiles(), str(directory), config=LogConfig(), now_ms=NOW_MS)
    return Place(directory, written.end_offset, written.size)


def compacted(directory: Path, memory: int, verify: Verify, *, worker: Worker | None) -> Spent:
    """Compact a directory here; return what that took once the kernels were loaded."""
    size = sum(path.stat().st_size for path in directory.glob("*.log"))
    order = CompactOrder(memory_bytes=memory, verify=verify)
    fast = engine(size)
    wall, processor = perf_counter(), process_time()
    report = our_cleaning.clean(
        directory, CONFIG, now_ms=NOW_MS, engine=fast, order=order, worker=worker
    )
    spent = perf_counter() - wall, process_time() - processor
    assert report.end == report.log_end, "all of it is clean"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Spent(*spent, 1, peak / 1024)

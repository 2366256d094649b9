"""Are the time and the memory of a salvage linear, in segments and in batches?

    python -m benchmarks.micro.salvage

- 10,000 segments of one batch, and 1,000 segments of 1,000 batches, each next to half of it;
- the ratio is the time of a segment, or of a batch, in half of the log and in all of it;
- memory is the peak of Python's allocations, of a second run: a window a file, and no batch.

The files are in the page cache. All times are processor time of one core.
"""

import struct
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.cpu_time import cpu_seconds
from benchmarks.figure import Bound, Figure
from cordwood.core.ports import Ports
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.workbench.salvage.salvage import salvage

FULL: Final = 256 * 1024 * 1024
#: Segments, and batches in each of them, of a full run.
SHAPES: Final = ((10_000, 1), (1_000, 1_000))
MOST_MB: Final = 64
MB: Final = 1 << 20


def figures(size: int = FULL) -> list[Figure]:
    """Measure logs of the full shapes, or of the share of them that `size` is of the full size."""
    found = []
    for segments, batches in SHAPES:
        count = max(8, segments * min(size, FULL) // FULL)
        half, all_of_it = (_seconds(each, batches) for each in (count // 2, count))
        name = f"salvage, {count:,} segments of {batches:,} batches"
        found.append(
            Figure(
                name=name,
                value=all_of_it / (count * batches) * 1e6,
                unit="us/batch",
                peer="in half of it",
                peer_value=half / (count // 2 * batches) * 1e6,
                ratio=half / (count // 2) / (all_of_it / count),
                goal=0.7,
            )
        )
        found.append(
            Figure(
                name=f"{name}, memory",
                value=_peak(count, batches) / MB,
                unit="MB",
                goal=MOST_MB,
                bound=Bound.MOST,
            )
        )
    return found


def _seconds(segments: int, batches: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        return cpu_seconds(_salvage_of(Path(folder), segments, batches), 1)


def _peak(segments: int, batches: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        call = _salvage_of(Path(folder), segments, batches)
        tracemalloc.start()
        try:
            call()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def _salvage_of(folder: Path, segments: int, batches: int) -> Callable[[], object]:
    """Write a log, and return the call that salvages it."""
    source = folder / "logs" / "bench-0"
    source.mkdir(parents=True)
    batch = _batch()
    for number in range(segments):
        data = bytearray(batch * batches)
        base = number * batches
        for at in range(batches):
            struct.pack_into(">q", data, at * len(batch), base + at)
        (source / f"{base:020}.log").write_bytes(data)
    ports = Ports(files=SystemFiles(), clock=SystemClock(), random=SystemRandom())

    def call() -> None:
        report = salvage(ports, str(source), out=str(folder / "out"))
        assert report.is_whole, "the log is sound"
        assert report.batches == segments * batches, "the report counts every batch"

    return call


def _batch() -> bytes:
    builder = BatchBuilder(BatchFields(partition_leader_epoch=0))
    builder.append(b"key", b"value", timestamp=1_700_000_000_000)
    return bytes(builder.build())


if __name__ == "__main__":
    for figure in figures():
        print(figure)

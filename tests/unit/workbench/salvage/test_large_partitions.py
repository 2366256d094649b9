"""Salvage of partitions with many segments, batches and gaps: work, memory and report."""

import struct
import sys
import tracemalloc
from pathlib import Path

import pytest

from cordwood.core.ports import Ports
from cordwood.core.system import SystemFiles
from cordwood.storage.log_config import LogConfig
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.file_window import FileWindow
from cordwood.workbench.salvage import readable_batches
from cordwood.workbench.salvage.salvage import SalvageOptions, salvage
from tests.unit.workbench.salvage_samples import SOURCE, batch, cleaned_batch, directory, ports

BATCH_OFFSETS = 4
#: Batches are written in sets that are at most as large as a segment.
OPTIONS = SalvageOptions(config=LogConfig(segment_bytes=10_000))


def written(folder: Path, *, segments: int, batches: int, gap: int = 0) -> Path:
    """Write a partition with segments of equal size, and missing offsets behind each batch."""
    partition = folder / f"{segments}-{batches}" / "t-0"
    partition.mkdir(parents=True)
    for segment in range(segments):
        first = segment * batches * (BATCH_OFFSETS + gap)
        offsets = range(first, first + batches * (BATCH_OFFSETS + gap), BATCH_OFFSETS + gap)
        (partition / f"{first:020}.log").write_bytes(b"".join(map(batch, offsets)))
    return partition


def salvage_into_out(partition: Path) -> None:
    """Salvage a partition into the folder `out` next to it."""
    system = Ports(files=SystemFiles(), clock=VirtualClock(), random=SeededRandom(1))
    salvage(system, f"{partition}", out=f"{partition.parent}/out", options=OPTIONS)


def count_calls(partition: Path) -> int:
    """Salvage a partition; return the number of calls of functions in Python."""
    calls = [0]

    def count(_frame: object, event: str, _argument: object) -> None:
        calls[0] += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        salvage_into_out(partition)
    finally:
        sys.setprofile(before)
    return calls[0]


def peak_of(partition: Path) -> int:
    """Salvage a partition; return the most bytes that Python's objects have at a time."""
    tracemalloc.start()
    try:
        salvage_into_out(partition)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.timeout(120)
def test_work_is_linear_in_segments(tmp_path: Path) -> None:
    few, many = (written(tmp_path, segments=each, batches=20) for each in (50, 200))
    salvage_into_out(written(tmp_path, segments=1, batches=1))

    calls = count_calls(few), count_calls(many)

    assert calls[1] < 5 * calls[0]


def test_memory_does_not_grow_with_the_indexes_of_all_segments(tmp_path: Path) -> None:
    """Their entries are those of other offsets than the segments have."""
    index = b"".join(struct.pack(">ii", at, at) for at in range(1 << 20, (1 << 20) + 10_000))
    few, many = (written(tmp_path, segments=each, batches=1) for each in (5, 50))
    for log in (*few.glob("*.log"), *many.glob("*.log")):
        log.with_suffix(".index").write_bytes(index)
    salvage_into_out(written(tmp_path, segments=1, batches=1))

    peaks = peak_of(few), peak_of(many)

    assert peaks[1] - peaks[0] < 5 * len(index)


def test_memory_does_not_grow_with_the_batches_of_all_segments(tmp_path: Path) -> None:
    few, many = (written(tmp_path, segments=each, batches=100) for each in (5, 20))
    salvage_into_out(written(tmp_path, segments=1, batches=1))

    peaks = peak_of(few), peak_of(many)

    assert peaks[1] < 2 * peaks[0]


@pytest.mark.parametrize("gap", (0, 1))
def test_memory_does_not_grow_with_the_batches_of_a_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gap: int
) -> None:
    """A file is read through a window, and checked in parts. Both are small here."""
    sizes = FileWindow.__init__.__kwdefaults__
    assert sizes is not None
    monkeypatch.setitem(sizes, "size", 1 << 15)
    monkeypatch.setattr(readable_batches, "CHECK_BYTES", 1 << 14)
    few, many = (written(tmp_path, segments=1, batches=each, gap=gap) for each in (200, 2000))
    for partition, batches in ((few, 200), (many, 2000)):
        end = batches * (BATCH_OFFSETS + gap) - gap
        for name in ("cleaner", "recovery-point"):
            lines = b"0\n1\nt 0 %d\n" % end
            (partition.parent / f"{name}-offset-checkpoint").write_bytes(lines)
    salvage_into_out(written(tmp_path, segments=1, batches=1))

    peaks = peak_of(few), peak_of(many)

    assert peaks[1] - peaks[0] < 50 * 1800


def test_gaps_of_a_compacted_log_have_one_line() -> None:
    data = b"".join(cleaned_batch(offset) for offset in range(0, 600, 6))
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 600\n"}
    files = directory({f"{0:020}.log": data}, beside=beside)

    report = salvage(ports(files), SOURCE, out="/out")

    assert report.is_whole
    assert [each[:2] for each in report.gaps] == [(4, 593)]

"""Are the time and the memory of a salvage linear, in segments and in batches?

    python -m benchmarks.micro.salvage

- 10,000 segments of one batch, and 1,000 segments of 1,000 batches, each next to half of it;
- the ratio is the time of a segment, or of a batch, in half of the log and in all of it;
- memory is the peak of Python's allocations, of a second run: a window a file, and no batch.

`make bench` measures an eighth of both shapes. The files are in the page cache. All times are
processor time of one core.
"""

from benchmarks.figure import Bound, Figure
from benchmarks.micro.segments import FULL, MB, MOST_MB, SHAPES, in_turns, peak
from cordwood.core.ports import Ports
from cordwood.core.system import SystemClock, SystemFiles, SystemRandom
from cordwood.records.kernels import batch_checker
from cordwood.workbench.salvage.salvage import SalvageOptions, salvage


def figures(size: int = FULL) -> list[Figure]:
    """Measure logs of the full shapes, or of the share of them that `size` is of the full size."""
    found = []
    for segments, batches in SHAPES:
        count = max(8, segments * min(size, FULL) // FULL)
        half, all_of_it = in_turns(_salvage, (count // 2, count), batches)
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
                value=peak(_salvage, count, batches) / MB,
                unit="MB",
                goal=MOST_MB,
                bound=Bound.MOST,
            )
        )
    return found


def _salvage(path: str, out: str) -> None:
    """Salvage the partition at a path."""
    ports = Ports(files=SystemFiles(), clock=SystemClock(), random=SystemRandom())
    options = SalvageOptions(checker=batch_checker())
    report = salvage(ports, path, out=out, options=options)
    assert report.is_whole, "the log is sound"
    assert report.batches == report.log_end, "the report counts every batch, of one record each"


if __name__ == "__main__":
    for figure in figures():
        print(figure)

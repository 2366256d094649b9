"""How fast is a log verified, and how fast is it counted, next to reading it?

    python -m benchmarks.micro.workbench

- verify: every checksum, every record and every index entry of 16 KB batches of 100 B records;
- stat: headers alone, of 16 KB and of 1 KB batches; deep, all records too.

Logs are in the page cache. All figures are processor time of one core. To compare two commits,
compare their ratios.
"""

from collections.abc import Callable
from pathlib import Path

from benchmarks.figure import Bound, Figure
from benchmarks.micro.storage import SLICES, _cpu_seconds, _filled, _folder
from cordwood.core.system import SystemFiles
from cordwood.records.kernels import batch_checker
from cordwood.workbench.segment_walk import WINDOW_BYTES
from cordwood.workbench.stat import stat
from cordwood.workbench.verify.verify import verify

GB = 1e9


def figures(size: int = 256 * 1024 * 1024) -> list[Figure]:
    """Measure with logs of about `size` bytes."""
    found = []
    files, sweep = SystemFiles(), batch_checker()
    with _folder() as folder:
        path = f"{folder}/bench-0"
        log = _filled(path, size, 16 * 1024)
        log.close()
        assert not verify(files, [path], checker=sweep).is_damaged, "the log is sound"
        moved, reading = _measured(path, lambda: _read(path))
        for name, goal, call in (
            ("verify 16 KB batches", 3, lambda: verify(files, [path], checker=sweep)),
            ("stat 16 KB batches", 5, lambda: stat(files, [path], checker=sweep)),
            ("stat 16 KB batches, deep", None, lambda: _deep(files, path)),
        ):
            _, seconds = _measured(path, call)
            found.append(
                Figure(
                    name=name,
                    value=moved / seconds / GB,
                    unit="GB/s",
                    peer="reading",
                    peer_value=moved / reading / GB,
                    ratio=reading / seconds,
                    goal=goal,
                    bound=Bound.VALUE,
                )
            )
    with _folder() as folder:
        path = f"{folder}/bench-0"
        _filled(path, size // 4, 1024).close()
        batches = stat(files, [path], checker=sweep).total.batches
        _, seconds = _measured(path, lambda: stat(files, [path], checker=sweep))
        found.append(
            Figure(
                name="stat 1 KB batches",
                value=batches / seconds / 1e6,
                unit="M batches/s",
                goal=3,
                bound=Bound.VALUE,
            )
        )
    return found


def _deep(files: SystemFiles, path: str) -> None:
    stat(files, [path], is_deep=True, checker=batch_checker())


def _measured(path: str, call: Callable[[], object]) -> tuple[int, float]:
    """Return how many bytes of logs there are, and the time of a call."""
    size = sum(log.stat().st_size for log in Path(path).glob("*.log"))
    return size, min(_cpu_seconds(call) for _ in range(SLICES))


def _read(path: str) -> None:
    window = memoryview(bytearray(WINDOW_BYTES))
    for log in Path(path).glob("*.log"):
        with log.open("rb", buffering=0) as file:
            while file.readinto(window):
                pass


if __name__ == "__main__":
    for figure in figures():
        print(figure)

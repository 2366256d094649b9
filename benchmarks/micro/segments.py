"""Is the time of each walk over a log linear, in segments and in batches?

    python -m benchmarks.micro.segments

- a read of all headers, `explain` of a compacted log, `convert` and `reindex`;
- 10,000 segments of one batch, and 1,000 segments of 1,000 batches, each next to half of it;
- the ratio is the time of a segment in half of the log and in all of it, the shortest of three
  times measured in turns if the segments are small;
- memory is the peak of Python's allocations, of a second run over the 10,000 segments.

`make bench` measures an eighth of both shapes. The files are in the page cache. All times are
processor time of one core.
"""

import struct
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from benchmarks.cpu_time import cpu_seconds
from benchmarks.figure import Bound, Figure
from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.path_resolution import open_reader
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.convert import convert
from cordwood.workbench.explain.explanation import explain
from cordwood.workbench.reindex import reindex
from cordwood.workbench.topic_settings_lookup import SettingsFinder

#: The size of a full run; `make bench` has an eighth of it.
FULL: Final = 2 * 1024 * 1024 * 1024
#: Segments, and batches in each of them, of a full run.
SHAPES: Final = ((10_000, 1), (1_000, 1_000))
#: Rounds of logs of at most this many batches.
ROUNDS: Final = 3
MOST_REPEATED: Final = 10_000
MOST_MB: Final = 64
MB: Final = 1 << 20


def figures(size: int = FULL) -> list[Figure]:
    """Measure logs of the full shapes, or of the share of them that `size` is of the full size."""
    found = []
    for name, operation in OPERATIONS.items():
        for segments, batches in SHAPES:
            count = max(8, segments * min(size, FULL) // FULL)
            half, whole = in_turns(operation, (count // 2, count), batches)
            found.append(
                Figure(
                    name=f"{name}, {count:,} segments of {batches:,} batches",
                    value=whole / count * 1e6,
                    unit="us/segment",
                    peer="in half of it",
                    peer_value=half / (count // 2) * 1e6,
                    ratio=half / (count // 2) / (whole / count),
                    goal=0.7,
                )
            )
        segments, batches = SHAPES[0]
        count = max(8, segments * min(size, FULL) // FULL)
        found.append(
            Figure(
                name=f"{name}, {count:,} segments of {batches:,} batches, memory",
                value=peak(operation, count, batches) / MB,
                unit="MB",
                goal=MOST_MB,
                bound=Bound.MOST,
            )
        )
    return found


def _read_headers(path: str, out: str) -> None:
    assert out != path, "each operation has the same arguments"
    with closing(open_reader(SystemFiles(), path)) as reader:
        for _ in reader.batches():
            pass


def _explain(path: str, out: str) -> None:
    assert out != path, "each operation has the same arguments"
    files = SystemFiles()
    settings = SettingsFinder(files, given={"cleanup.policy": "compact"}, broker_config=None)
    found = settings.find(str(Path(path).parent), "bench")
    explain(files, path, found=found, now_ms=0)


def _convert(path: str, out: str) -> None:
    options = ConvertOptions(codec=Codec.LZ4)
    convert(SystemFiles(), [path], out=out, options=options, random=SystemRandom())


def _reindex(path: str, out: str) -> None:
    assert out != path, "each operation has the same arguments"
    reindex(SystemFiles(), path, config=LogConfig(), now_ms=0)


#: Operations on the partition at a path, with a folder for their output.
OPERATIONS: Final[Mapping[str, Callable[[str, str], None]]] = {
    "read": _read_headers,
    "explain": _explain,
    "convert": _convert,
    "reindex": _reindex,
}


def seconds(operation: Callable[[str, str], None], segments: int, batches: int) -> float:
    """Return the processor time of an operation on a log of this shape."""
    with _log(segments, batches) as folder:
        return cpu_seconds(lambda: operation(f"{folder}/logs/bench-0", f"{folder}/out"), 1)


def in_turns(
    operation: Callable[[str, str], None], counts: Sequence[int], batches: int
) -> list[float]:
    """Return the time for each number of segments: the shortest one, as others delay a run."""
    rounds = ROUNDS if max(counts) * batches <= MOST_REPEATED else 1
    times = [[seconds(operation, count, batches) for count in counts] for _ in range(rounds)]
    return [min(each) for each in zip(*times, strict=True)]


def peak(operation: Callable[[str, str], None], segments: int, batches: int) -> int:
    """Return the peak of Python's allocations, in bytes, of an operation on such a log."""
    with _log(segments, batches) as folder:
        tracemalloc.start()
        try:
            operation(f"{folder}/logs/bench-0", f"{folder}/out")
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


@contextmanager
def _log(segments: int, batches: int) -> Iterator[str]:
    """Write a log into a folder, which is removed in the end."""
    builder = BatchBuilder(BatchFields(partition_leader_epoch=0))
    builder.append(b"key", b"value", timestamp=1_700_000_000_000)
    batch = bytes(builder.build())
    with tempfile.TemporaryDirectory() as folder:
        partition = Path(folder, "logs", "bench-0")
        partition.mkdir(parents=True)
        for base in range(0, segments * batches, batches):
            data = bytearray(batch * batches)
            for at in range(batches):
                struct.pack_into(">q", data, at * len(batch), base + at)
            (partition / f"{base:020}.log").write_bytes(data)
        yield folder


if __name__ == "__main__":
    for figure in figures():
        print(figure)

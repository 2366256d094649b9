"""How fast is a log compacted, beside Kafka's own cleaner on the same log in the same run?

    make bench-kafka          or: python -m benchmarks.kafka.compaction [--full | --soak]

893 MB of 16-byte keys and 100-byte values (`--full`; an eighth otherwise), plain and compressed;
and keys that come once each, ten times as many as the memory holds (`--soak`: 50 million). Kafka's
side is its `Cleaner` in a process with the settings of its scripts and its own defaults of memory
and buffers: one thread, and the time that it counts itself, without what opens the log. Ours is
`compact` in a process of its own: opening, planning, the pass with its certificate, synced, and the
swap; with a sample proven it is told apart. Rounds are taken in turns, on fresh links to the same
files, which are in the page cache for both; the best of each counts.
"""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.figure import Figure
from benchmarks.kafka.peers import AS_ITS_SCRIPTS, beside, processor_seconds
from benchmarks.keyed_log import KeyedLog, write
from cordwood.compaction.job import Verify
from cordwood.compaction.kernels import engine
from cordwood.core.system import SystemFiles
from cordwood.records.compression import Codec
from cordwood.records.kernels import warm
from cordwood.storage.log_config import LogConfig
from cordwood.workbench.compact import CompactOrder
from cordwood.workbench.reindex import reindex
from tests.interop.kafka_harness import our_cleaning
from tests.interop.kafka_harness.jars import Jars, fetch
from tests.interop.kafka_harness.kafka_logs import KafkaLogs

if TYPE_CHECKING:
    from tests.interop.kafka_harness.spec import Json

ROUNDS: Final = 3
NOW_MS: Final = 1_700_000_000_000
CONFIG: Final = {"cleanup.policy": "compact"}
MEMORY: Final = 128 << 20
_KAFKA_BUFFER: Final = 256 << 10
_SEGMENT_BYTES: Final = 100 << 20
_MB: Final = 1e6


class Size(NamedTuple):
    """How many records of how many keys there are; how many keys that come once, in what memory."""

    records: int
    keys: int
    once: int
    memory: int


SMALL: Final = Size(930_000, 125_000, 1_000_000, 6_400_000)
FULL: Final = Size(7_430_000, 1_000_000, 10_000_000, 64_000_000)
SOAK: Final = FULL._replace(once=50_000_000)
#: Keys are drawn by chance out of so many that hardly one comes again.
_ONCE: Final = 1 << 40


class Spent(NamedTuple):
    """What passes over a log took, until nothing was dirty, and the most memory at a time."""

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


def figures(size: Size = SMALL, rounds: int = ROUNDS) -> Iterator[Figure]:
    """Measure both cleaners on the same logs, in turns."""
    warm(lambda line: print(line, file=sys.stderr))
    jars = fetch("kafka-4.3.0")
    for codec in (Codec.NONE, Codec.LZ4, Codec.ZSTD):
        log = KeyedLog(records=size.records, keys=size.keys, codec=codec)
        yield from _beside(jars, log, rounds)
    once = KeyedLog(records=size.once, keys=_ONCE)
    yield from _in_small_memory(jars, once, size.memory)


def _beside(jars: Jars, log: KeyedLog, rounds: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = _placed(folder, log)
        theirs, ours = [], []
        for _ in range(rounds):
            theirs.append(_theirs(jars, place, folder, MEMORY))
            ours.append(_ours(place, folder, MEMORY, Verify.NEVER))
        is_plain = log.codec is Codec.NONE
        proven = _ours(place, folder, MEMORY, Verify.SAMPLE) if is_plain else None
    what = f"compaction, {place.size / _MB:.0f} MB" + ("" if is_plain else f", {log.codec.name}")
    rates = [place.size / _MB / min(each.seconds for each in side) for side in (ours, theirs)]
    yield beside(what, "MB/s", rates, is_rate=True, goal=5 if is_plain else 1.5)
    processor = [min(each.processor for each in side) for side in (ours, theirs)]
    yield beside(f"{what}, processor", "s", processor)
    if proven is not None:
        rates[0] = place.size / _MB / proven.seconds
        yield beside(f"{what}, a sample proven", "MB/s", rates, is_rate=True)
        peaks = [min(each.peak_mib for each in side) for side in (ours, theirs)]
        yield beside(f"{what}, peak memory", "MiB", peaks)


def _in_small_memory(jars: Jars, log: KeyedLog, memory: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = _placed(folder, log)
        theirs = _theirs(jars, place, folder, memory)
        ours = _ours(place, folder, memory, Verify.NEVER)
    what = f"compaction, {log.records / _MB:g} M keys in {memory / _MB:g} MB"
    yield beside(what, "s", (ours.seconds, theirs.seconds))
    yield beside(f"{what}, passes", "passes", (ours.passes, theirs.passes))
    yield beside(f"{what}, peak memory", "MiB", (ours.peak_mib, theirs.peak_mib))


def _placed(folder: Path, log: KeyedLog) -> Place:
    directory = folder / "made" / "t-0"
    written = write(log, directory, segment_bytes=_SEGMENT_BYTES)
    (directory / f"{written.end_offset:020}.log").touch()
    reindex(SystemFiles(), str(directory), config=LogConfig(), now_ms=NOW_MS)
    return Place(directory, written.end_offset, written.size)


def _theirs(jars: Jars, place: Place, folder: Path, memory: int) -> Spent:
    """Let Kafka clean until nothing is dirty: what does not fit its map waits for the next pass."""
    directory = place.linked(folder / "theirs")
    now: dict[str, Json] = {"now_ms": NOW_MS}
    kafka_logs = KafkaLogs(jars, folder, AS_ITS_SCRIPTS)
    try:
        opening: dict[str, Json] = {"config": dict(CONFIG), "is_clean": True, **place.bounds}
        kafka_logs.ask("open", directory, opening | now)
        before = processor_seconds(kafka_logs.process_id)
        end, passes, seconds = -1, 0, 0.0
        while end < place.end:
            room: dict[str, Json] = {"map_bytes": memory, "io_bytes": _KAFKA_BUFFER}
            done = kafka_logs.clean(directory, {"checkpoint": end, **room, **now})
            end, passes, seconds = done.end, passes + 1, seconds + done.seconds
        used = processor_seconds(kafka_logs.process_id) - before
        status = Path(f"/proc/{kafka_logs.process_id}/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0])
    finally:
        kafka_logs.close()
    return Spent(seconds, used, passes, peak / 1024)


def _ours(place: Place, folder: Path, memory: int, verify: Verify) -> Spent:
    directory = place.linked(folder / "ours")
    command = [sys.executable, "-m", "benchmarks.kafka.compaction", "--pass"]
    done = subprocess.run(
        [*command, str(directory), str(memory), verify.value],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Spent(*json.loads(done.stdout))


def _one_pass(words: Sequence[str]) -> None:
    """Compact one directory, and print what that took; numba has been loaded by then."""
    directory, memory, verify = Path(words[0]), int(words[1]), Verify(words[2])
    size = sum(path.stat().st_size for path in directory.glob("*.log"))
    order = CompactOrder(memory_bytes=memory, verify=verify)
    fast = engine(size)
    wall, processor = perf_counter(), process_time()
    report = our_cleaning.clean(directory, CONFIG, now_ms=NOW_MS, engine=fast, order=order)
    spent = perf_counter() - wall, process_time() - processor
    assert report.end == report.log_end, "all of it is clean"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps((*spent, 1, peak / 1024)))


if __name__ == "__main__":
    if "--pass" in sys.argv:
        _one_pass(sys.argv[sys.argv.index("--pass") + 1 :])
    else:
        chosen = SOAK if "--soak" in sys.argv else FULL if "--full" in sys.argv else SMALL
        for figure in figures(chosen):
            print(figure, flush=True)

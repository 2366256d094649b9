"""How fast is a log compacted, next to Kafka's own cleaner on the same log in the same run?

    make bench-kafka          or: python -m benchmarks.kafka.compaction [--full | --soak]

893 MB of 16-byte keys and 100-byte values (`--full`; an eighth otherwise), plain and compressed;
and keys that come once each, ten times as many as the memory holds (`--soak`: 50 million).

Kafka's side is its `Cleaner` in a process with the settings of its scripts and its own defaults of
memory and buffers. It has one thread, and reports its own time, without opening the log. Ours is
`compact` in a process of its own: opening, planning, the pass with its certificate, synced, and the
swap, with a thread that reads ahead, as in a broker. Two more figures are without that thread, and
with a sample verified. Rounds alternate, on fresh links to the same files, which are in the page
cache for both; the best of each counts. The last figures are whole commands, `cordwood compact`,
with its start and its end, and with either proof.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.compacted import CONFIG, MEMORY, NOW_MS, Place, Spent, compacted, placed
from benchmarks.figure import Figure
from benchmarks.kafka.peers import AS_ITS_SCRIPTS, beside, processor_seconds
from benchmarks.keyed_log import KeyedLog
from benchmarks.results import keep
from benchmarks.whole_command import cordwood_command, cost_of
from cordwood.compaction.cleaning_job import Verify
from cordwood.core.system import ThreadWorker
from cordwood.records.compression import Codec
from tests.interop.kafka_harness.jars import Jars, fetch
from tests.interop.kafka_harness.kafka_logs import KafkaLogs

if TYPE_CHECKING:
    from tests.interop.kafka_harness.spec import Json

ROUNDS: Final = 3
_KAFKA_BUFFER: Final = 256 << 10
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
CODECS: Final = (Codec.NONE, Codec.LZ4, Codec.ZSTD)
#: Keys are drawn at random from a range so large that hardly one repeats.
_ONCE: Final = 1 << 40


def figures(
    size: Size = SMALL, rounds: int = ROUNDS, codecs: Sequence[Codec] = CODECS
) -> Iterator[Figure]:
    """Measure both cleaners on the same logs, in turns."""
    jars = fetch("kafka-4.3.0")
    for codec in codecs:
        log = KeyedLog(records=size.records, keys=size.keys, codec=codec)
        yield from _beside(jars, log, rounds)
    once = KeyedLog(records=size.once, keys=_ONCE)
    yield from _in_small_memory(jars, once, size.memory)


def _beside(jars: Jars, log: KeyedLog, rounds: int) -> Iterator[Figure]:
    theirs, ours, alone, proven = list[Spent](), list[Spent](), list[Spent](), list[Spent]()
    sampled, unproven = list[float](), list[float]()
    is_plain = log.codec is Codec.NONE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = placed(folder, log)
        for _ in range(rounds):
            theirs.append(_theirs(jars, place, folder, MEMORY))
            ours.append(_ours(place, folder, _Way(MEMORY)))
            if is_plain:
                alone.append(_ours(place, folder, _Way(MEMORY, is_alone=True)))
                proven.append(_ours(place, folder, _Way(MEMORY, Verify.SAMPLE)))
                sampled.append(_command(place, folder, Verify.SAMPLE))
                unproven.append(_command(place, folder, Verify.NEVER))
    what = f"compaction, {place.size / _MB:.0f} MB" + ("" if is_plain else f", {log.codec.name}")

    def rate(name: str, spent: list[Spent], goal: float | None) -> Figure:
        rates = [place.size / _MB / min(each.seconds for each in side) for side in (spent, theirs)]
        return beside(name, "MB/s", rates, is_rate=True, goal=goal)

    yield rate(what, ours, 7 if is_plain else 1.5)
    processor = [min(each.processor for each in side) for side in (ours, theirs)]
    yield beside(f"{what}, processor", "s", processor)
    if is_plain:
        yield rate(f"{what}, one thread", alone, 5)
        yield rate(f"{what}, a sample proven", proven, None)
        peaks = [min(each.peak_mib for each in side) for side in (ours, theirs)]
        yield beside(f"{what}, peak memory", "MiB", peaks)
        kafka = min(each.seconds for each in theirs)
        yield beside(f"{what}, whole command", "s", (min(sampled), kafka), goal=5)
        whole = f"{what}, whole command, --verify never"
        yield beside(whole, "s", (min(unproven), kafka), goal=7)


def _command(place: Place, folder: Path, verify: Verify) -> float:
    """Return the seconds of a whole command."""
    directory = place.linked(folder / "ours")
    options = "--config", "cleanup.policy=compact", "--verify", verify.value
    return cost_of(cordwood_command("compact", str(directory), *options)).wall


def _in_small_memory(jars: Jars, log: KeyedLog, memory: int) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = placed(folder, log)
        theirs = _theirs(jars, place, folder, memory)
        ours = _ours(place, folder, _Way(memory))
    what = f"compaction, {log.records / _MB:g} M keys in {memory / _MB:g} MB"
    yield beside(what, "s", (ours.seconds, theirs.seconds))
    yield beside(f"{what}, passes", "passes", (ours.passes, theirs.passes))
    yield beside(f"{what}, peak memory", "MiB", (ours.peak_mib, theirs.peak_mib))


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


class _Way(NamedTuple):
    """How we compact: in what memory, with what proof, and whether one thread does it alone."""

    memory: int
    verify: Verify = Verify.NEVER
    is_alone: bool = False


def _ours(place: Place, folder: Path, way: _Way) -> Spent:
    directory = place.linked(folder / "ours")
    command = [sys.executable, "-m", "benchmarks.kafka.compaction", "--pass"]
    how = str(way.memory), way.verify.value, "alone" if way.is_alone else "ahead"
    done = subprocess.run(
        [*command, str(directory), *how], check=True, stdout=subprocess.PIPE, text=True
    )
    return Spent(*json.loads(done.stdout))


def _one_pass(words: Sequence[str]) -> None:
    """Compact one directory, and print what that took."""
    directory, memory, verify = Path(words[0]), int(words[1]), Verify(words[2])
    worker = None if words[3] == "alone" else ThreadWorker(1)
    print(json.dumps(compacted(directory, memory, verify, worker=worker)))


if __name__ == "__main__":
    if "--pass" in sys.argv:
        _one_pass(sys.argv[sys.argv.index("--pass") + 1 :])
    else:
        chosen = SOAK if "--soak" in sys.argv else FULL if "--full" in sys.argv else SMALL
        keep(figures(chosen))

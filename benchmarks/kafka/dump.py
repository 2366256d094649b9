"""How fast is a log dumped, next to Kafka's own tool on the same files in the same run?

    make bench-kafka          or: python -m benchmarks.kafka.dump

330 MB of records of 100 bytes, header lines alone and a line a record. Both sides are whole
commands, start-up included: processor time of the child, and time on the wall, taken in turns, best
of several. The output of both is thrown away; that it is the same is shown by
`tests/interop/test_dump_with_kafka.py`. Kafka comes from Maven.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.figure import Figure
from benchmarks.micro.records import BATCH_BYTES, segment
from benchmarks.results import keep
from tests.interop.kafka_harness.jars import Jars, fetch

SIZE = 330_000_000
SLICES = 3
TOOL = "org.apache.kafka.tools.DumpLogSegments"


class Spent(NamedTuple):
    """The cost of a command."""

    wall: float
    processor: float


def figures(size: int = SIZE) -> list[Figure]:
    """Measure on a log of `size` bytes."""
    jars = fetch("kafka-4.3.0")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{0:020}.log")
        path.write_bytes(segment(100, size, batch_bytes=BATCH_BYTES).data)
        found = []
        for name, options in (("headers", []), ("records", ["--deep-iteration"])):
            found += _beside(f"dump of {name}", jars, [*options, "--files", str(path)])
    return found


def _beside(name: str, jars: Jars, options: list[str]) -> list[Figure]:
    ours = [str(Path(sys.executable).parent / "cordwood"), "log", "dump", *options]
    theirs = ["java", "-Xmx1g", "-cp", jars.class_path, TOOL, *options]
    pairs = [(_spent(ours), _spent(theirs)) for _ in range(SLICES)]
    best = [Spent(*map(min, zip(*side, strict=True))) for side in zip(*pairs, strict=True)]
    return [
        Figure(
            name=f"{name}, {kind} time",
            value=value,
            unit="s",
            peer="Kafka's tool",
            peer_value=peer_value,
            ratio=peer_value / value,
        )
        for kind, value, peer_value in zip(Spent._fields, *best, strict=True)
    ]


def _spent(command: list[str]) -> Spent:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    wall = perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Spent(wall, used)


if __name__ == "__main__":
    keep(figures())

"""How fast is a log dumped and verified, next to Kafka's own tool in the same run?

    make bench-kafka          or: python -m benchmarks.kafka.dump

330 MB of records of 100 bytes: header lines alone, a line a record, and `cordwood log verify`, next
to the dump of records, which is as near as Kafka's tools come to a check of every record. Both
sides are whole commands, start-up included: processor time of the child, and time on the wall,
taken in turns, best of several. The output of both is thrown away; that the dumps are the same is
shown by `tests/interop/test_dump_with_kafka.py`. Kafka comes from Maven.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.micro.records import BATCH_BYTES, segment
from benchmarks.results import keep
from benchmarks.whole_command import CommandCost, cordwood_command, cost_of
from cordwood.core.system import SystemFiles
from cordwood.storage.log_config import LogConfig
from cordwood.workbench.reindex import reindex
from tests.interop.kafka_harness.jars import fetch

SIZE = 330_000_000
SLICES = 3
TOOL = "org.apache.kafka.tools.DumpLogSegments"
DEEP = "--deep-iteration"


def figures(size: int = SIZE) -> Iterator[Figure]:
    """Measure on a log of `size` bytes."""
    jars = fetch("kafka-4.3.0")
    tool = ["java", "-Xmx1g", "-cp", jars.class_path, TOOL]
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder, "t-0")
        directory.mkdir()
        path = directory / f"{0:020}.log"
        path.write_bytes(segment(100, size, batch_bytes=BATCH_BYTES).data)
        reindex(SystemFiles(), str(directory), config=LogConfig(), now_ms=0)
        headers, records = ("--files", str(path)), (DEEP, "--files", str(path))
        yield from _beside("dump of headers", _dump(headers), [*tool, *headers], goal=1)
        yield from _beside("dump of records", _dump(records), [*tool, *records])
        verify = cordwood_command("log", "verify", str(directory))
        yield from _beside("verify", verify, [*tool, *records], goal=12)


def _dump(options: Sequence[str]) -> list[str]:
    return cordwood_command("log", "dump", *options)


def _beside(
    name: str, ours: Sequence[str], theirs: Sequence[str], *, goal: float | None = None
) -> Iterator[Figure]:
    """Run both commands in turns; the goal is of the time on the wall."""
    pairs = [(cost_of(ours), cost_of(theirs)) for _ in range(SLICES)]
    best = [CommandCost(*map(min, zip(*side, strict=True))) for side in zip(*pairs, strict=True)]
    for kind, value, peer_value in zip(CommandCost._fields, *best, strict=True):
        yield Figure(
            name=f"{name}, {kind} time",
            value=value,
            unit="s",
            peer="Kafka's tool",
            peer_value=peer_value,
            ratio=peer_value / value,
            goal=goal if kind == "wall" else None,
        )


if __name__ == "__main__":
    keep(figures())

"""How fast does Spark compact eight partitions, next to one process on the same logs, in one run?

    python -m benchmarks.spark.compaction [--full | --soak]

Eight logs of 16-byte keys and 100-byte values, ten records a key: 120 MB in all, a gigabyte with
`--full`, eight with `--soak`. One process does them one after the other, with a thread that reads
ahead, as `cordwood compact` does; Spark has a warm session of two cores. It takes each log whole, a
task each. A second figure splits each log over the tasks, as for logs that are too large for one
task. All prove a sample of the keys, sync and swap. Rounds are taken in turns, on fresh links to
the same files; the best of each counts. Processor time is of all processes of a side.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from benchmarks.compacted import MEMORY, Place, compacted, placed
from benchmarks.figure import Bound, Figure
from benchmarks.keyed_log import KeyedLog
from benchmarks.results import keep
from benchmarks.spark.throughput import SESSION
from cordwood.compaction.cleaning_job import Verify
from cordwood.core.system import ThreadWorker
from tests.interop.kafka_harness.oracle import Program

if TYPE_CHECKING:
    from benchmarks.spark.session import Answer
    from tests.interop.kafka_harness.spec import Json

LOGS: Final = 8
ROUNDS: Final = 3
SMALL, FULL, SOAK = 125_000, 1_000_000, 8_000_000
RECORDS_A_KEY: Final = 10
_MB: Final = 1e6
#: Larger than any log, and smaller.
_SHARES: Final = {"whole, a task each": 1 << 40, "shared out": 0}


def figures(records: int = SMALL, rounds: int = ROUNDS) -> Iterator[Figure]:
    """Measure one process and Spark in turns; `records` are those of one log."""
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as folder:
        place = placed(Path(made), KeyedLog(records, max(1, records // RECORDS_A_KEY)))
        session = Program([sys.executable, SESSION, "cordwood"], Path(made, "session.txt"))
        try:
            yield from _figures(place, session, Path(folder), rounds)
        finally:
            session.close()


def _figures(place: Place, session: Program, folder: Path, rounds: int) -> Iterator[Figure]:
    one: list[tuple[float, float]] = []
    many: dict[str, list[tuple[float, float]]] = {name: [] for name in _SHARES}
    for number in range(rounds + 1):
        spent = _by_one_process(place, folder)
        one += [spent] if number else []
        for name, whole_bytes in _SHARES.items():
            spent = _by_spark(session, _linked(place, folder), whole_bytes)
            many[name] += [spent] if number else []  # the first round is for warming up
    seconds, processor = map(min, zip(*one, strict=True))
    total = LOGS * place.size / _MB
    for name, each in many.items():
        ours, spent_by_us = map(min, zip(*each, strict=True))
        what = f"Spark compacts {LOGS} logs of {place.size / _MB:.0f} MB, {name}"
        yield Figure(
            name=what,
            value=total / ours,
            unit="MB/s",
            peer="one process",
            peer_value=total / seconds,
            ratio=seconds / ours,
            goal=1.2,
        )
        yield Figure(
            name=f"{what}, processor",
            value=spent_by_us / processor,
            unit="times as much",
            peer="one process",
            peer_value=processor,
            goal=1.5,
            bound=Bound.MOST,
        )


def _by_one_process(place: Place, folder: Path) -> tuple[float, float]:
    """Return seconds, and those of the processor."""
    worker = ThreadWorker(1)
    each = [compacted(log, MEMORY, Verify.SAMPLE, worker=worker) for log in _linked(place, folder)]
    return sum(spent.seconds for spent in each), sum(spent.processor for spent in each)


def _by_spark(session: Program, logs: list[Path], whole_bytes: int) -> tuple[float, float]:
    options = {"path": str(logs[0].parents[1]), "whole_bytes": str(whole_bytes)}
    question: dict[str, Json] = {"options": {**options}}
    answer = cast("Answer", session.ask("compact", question))
    if answer["found"] == 0:
        raise RuntimeError(f"nothing is left of {logs}")
    return answer["seconds"], answer["processor"]


def _linked(place: Place, folder: Path) -> list[Path]:
    """Return logs of their own, all of the same files."""
    return [place.linked(folder / str(number)) for number in range(LOGS)]


if __name__ == "__main__":
    keep(figures(SOAK if "--soak" in sys.argv else FULL if "--full" in sys.argv else SMALL))

"""All benchmarks in turn: `python -m benchmarks [BYTES]`, or `make bench`.

Prints a line a figure and keeps it in `build/bench.json`. Figures move with the machine and with
what else it does; the ratios, measured in turns in the same run, are what can be compared.
"""

import sys

from benchmarks.macro import cleaning, clients, compaction, long_polls, sizing, stalls
from benchmarks.micro import (
    broker,
    compression,
    controller,
    fixture,
    protocol,
    records,
    salvage,
    segments,
    start,
    storage,
    switch_interval,
    workbench,
)
from benchmarks.results import keep

BENCHMARKS = (
    *(records, compression, protocol, storage, broker),
    *(fixture, clients, cleaning, compaction, long_polls, sizing, stalls),
    *(switch_interval, workbench, segments, salvage, start, controller),
)
SIZE = 256 * 1024 * 1024


def main(size: int) -> None:
    """Run every benchmark on about `size` bytes."""
    keep(figure for benchmark in BENCHMARKS for figure in benchmark.figures(size))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SIZE)

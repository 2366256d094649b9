"""All benchmarks in turn: `python -m benchmarks [BYTES]`, or `make bench`.

Prints a line a figure and writes `build/bench.json`. Figures move with the machine and with what
else it does; the ratios, measured in turns in the same run, are what can be compared.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.macro import cleaning, clients
from benchmarks.micro import (
    broker,
    compression,
    fixture,
    protocol,
    records,
    start,
    storage,
    workbench,
)
from cordwood.records.kernels import warm

BENCHMARKS = (
    *(records, compression, protocol, storage, broker),
    *(fixture, clients, cleaning, workbench, start),
)
SIZE = 256 * 1024 * 1024
RESULTS = Path("build/bench.json")


def main(size: int) -> None:
    """Run every benchmark on about `size` bytes."""
    warm(lambda line: print(line, file=sys.stderr))
    found = []
    for benchmark in BENCHMARKS:
        for figure in benchmark.figures(size):
            print(figure, flush=True)
            found.append(asdict(figure))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    print(f"{len(found)} figures in {RESULTS}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SIZE)

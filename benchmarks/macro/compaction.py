"""How fast is a log compacted, what does it cost to prove it, and what does a second core bring?

    make bench                or: python -m benchmarks.macro.compaction

16-byte keys and 100-byte values, of which each key has seven or so, in the page cache. Rounds are
taken in turns, and the best of each counts. Next to Kafka's own cleaner it is measured in
`benchmarks.kafka.compaction`.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.compacted import MEMORY, Spent, compacted, placed
from benchmarks.figure import Figure
from benchmarks.keyed_log import KeyedLog
from cordwood.compaction.cleaning_job import Verify
from cordwood.core.ports import Worker
from cordwood.core.system import ThreadWorker

ROUNDS: Final = 3
SIZE: Final = 256 << 20
_RECORD_BYTES: Final = 126
_RECORDS_A_KEY: Final = 7
_MB: Final = 1e6


class _Way(NamedTuple):
    """A way to run the pass: its verification, and its read-ahead."""

    verify: Verify
    worker: Worker | None = None


def figures(size: int = SIZE) -> Iterator[Figure]:
    """Compact the same log in each way, in turns."""
    ahead = ThreadWorker(1)
    alone, helped = _Way(Verify.NEVER), _Way(Verify.NEVER, ahead)
    sampled, proven = _Way(Verify.SAMPLE), _Way(Verify.ALWAYS)
    records = max(1, size // _RECORD_BYTES)
    log = KeyedLog(records=records, keys=max(1, records // _RECORDS_A_KEY))
    spent: dict[_Way, list[Spent]] = {way: [] for way in (alone, helped, sampled, proven)}
    with tempfile.TemporaryDirectory() as name:
        place = placed(Path(name), log)
        for _ in range(ROUNDS):
            for way, found in spent.items():
                directory = place.linked(Path(name, "ours"))
                found.append(compacted(directory, MEMORY, way.verify, worker=way.worker))
    ahead.close()
    megabytes = place.size / _MB
    what = f"compaction, {megabytes:.0f} MB"
    wall = {way: megabytes / min(each.seconds for each in found) for way, found in spent.items()}
    used = {way: megabytes / min(each.processor for each in found) for way, found in spent.items()}
    yield _figure(f"{what}, read ahead", wall[helped], "one thread", wall[alone])
    unproven = "unproven", used[alone]
    yield _figure(f"{what}, a sample proven, processor", used[sampled], *unproven)
    yield _figure(f"{what}, proven, processor", used[proven], *unproven)


def _figure(name: str, value: float, peer: str, peer_value: float) -> Figure:
    return Figure(
        name=name,
        value=value,
        unit="MB/s",
        peer=peer,
        peer_value=peer_value,
        ratio=value / peer_value,
    )


if __name__ == "__main__":
    for figure in figures():
        print(figure)

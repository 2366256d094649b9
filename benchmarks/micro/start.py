"""How long does a broker in this process take to its first answer?

    python -m benchmarks.micro.start

A node over files in memory, on a loop that runs already, with the package imported: from the call
to the first answer to a Metadata request through a socket. The first one in a process, which still
has handlers to import and codecs to compile, and the best of those after it: what a test pays.
"""

import asyncio
import struct
from time import perf_counter
from typing import Final

from benchmarks.figure import Bound, Figure
from cordwood.core.settings import SettingSource
from cordwood.node.node import Node
from cordwood.node.runtime import NodeRuntime
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock

LISTENER: Final = "PLAINTEXT"
GIVEN: Final = {"log.dirs": "/logs", "listeners": f"{LISTENER}://127.0.0.1:0"}
GOAL_MS: Final = 20
_BYTES_A_START: Final = 16 << 20
# Metadata, version 1, correlation 1, no client id, no topics.
_METADATA: Final = struct.pack(">ihhihi", 14, 3, 1, 1, -1, 0)


def figures(size: int = 256 << 20) -> list[Figure]:
    """Start brokers one after the other: the larger `size`, the more, as with other benchmarks."""
    first, *others = asyncio.run(_starts(max(2, size // _BYTES_A_START)))
    return [
        _figure("start in this process, the first", first),
        _figure("start in this process, the best of the others", min(others)),
    ]


async def _starts(count: int) -> list[float]:
    return [await _start() for _ in range(count)]


async def _start() -> float:
    """Return after how many seconds a new broker has answered."""
    begun = perf_counter()
    node = Node([SettingSource("benchmark", GIVEN)], _runtime())
    await node.start()
    reader, writer = await asyncio.open_connection(*node.addresses[LISTENER])
    writer.write(_METADATA)
    await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
    seconds = perf_counter() - begun
    writer.close()
    await writer.wait_closed()
    await node.stop()
    return seconds


def _runtime() -> NodeRuntime:
    clock = VirtualClock()
    files = MemoryFiles()
    return inline_runtime(files, clock=clock, scheduler=clock, random=SeededRandom(1))


def _figure(name: str, seconds: float) -> Figure:
    return Figure(name=name, value=seconds * 1e3, unit="ms", goal=GOAL_MS, bound=Bound.MOST)


if __name__ == "__main__":
    for figure in figures():
        print(figure)

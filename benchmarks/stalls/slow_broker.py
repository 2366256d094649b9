"""`cordwood serve` on a slow disk, with a probe of its event loop.

python -m benchmarks.stalls.slow_broker serve ...

STALLS_FSYNC_MS   the time by which each fsync of a file or a directory takes longer
STALLS_LATENCY    the file for the delays of the loop: a timer is due every 2 ms. FILE.used has
                  the processor time of the loop's thread from one timer to the next, FILE.waited
                  the time for which the thread could run and other threads had the processors
STALLS_SWITCH_MS  the interpreter's switch interval, by default that of `serve`
"""

import asyncio
import os
import sys
from threading import get_native_id
from time import monotonic, sleep, thread_time
from typing import Final

from benchmarks.stalls.latency_file import LatencyWriter
from cordwood.broker.services import BrokerServices
from cordwood.cli import main, serve_run
from cordwood.core.system import SystemFile, SystemFiles
from cordwood.node.node import Node

EVERY_S: Final = 0.002


class LoopProbe:
    """A timer on the loop that records how late it is, and the processor time before it."""

    def __init__(self, path: str) -> None:
        self._delays = LatencyWriter(path)
        self._used = LatencyWriter(f"{path}.used")
        self._waited = LatencyWriter(f"{path}.waited")
        self._schedstat = os.open(f"/proc/self/task/{get_native_id()}/schedstat", os.O_RDONLY)
        self._used_s, self._waited_s = thread_time(), self._wait_s()
        self._loop = asyncio.get_running_loop()
        self._due_s = monotonic() + EVERY_S
        self._schedule()

    def _wait_s(self) -> float:
        """Return how long the thread has waited for a processor since its start."""
        return int(os.pread(self._schedstat, 100, 0).split()[1]) / 1e9

    def _schedule(self) -> None:
        self._loop.call_later(self._due_s - monotonic(), self._ring)

    def _ring(self) -> None:
        now_s, used_s, waited_s = monotonic(), thread_time(), self._wait_s()
        self._used.add(self._due_s, (used_s - self._used_s) * 1e3)
        self._waited.add(self._due_s, (waited_s - self._waited_s) * 1e3)
        self._used_s, self._waited_s = used_s, waited_s
        while self._due_s <= now_s:
            self._delays.add(self._due_s, (now_s - self._due_s) * 1e3)
            self._due_s += EVERY_S
        self._schedule()


class ProbedNode(Node):
    """A node whose loop is probed from its start on."""

    probe: LoopProbe

    async def start(self) -> BrokerServices:
        """Start the node, then the probe."""
        broker = await super().start()
        self.probe = LoopProbe(os.environ["STALLS_LATENCY"])
        return broker


_FSYNC_S: Final = float(os.environ.get("STALLS_FSYNC_MS", "0")) / 1e3
_sync, _sync_directory = SystemFile.sync, SystemFiles.sync_directory


def _slow_sync(self: SystemFile) -> None:
    sleep(_FSYNC_S)
    _sync(self)


def _slow_sync_directory(self: SystemFiles, path: str) -> None:
    sleep(_FSYNC_S)
    _sync_directory(self, path)


if __name__ == "__main__":
    if "STALLS_SWITCH_MS" in os.environ:
        sys.setswitchinterval(float(os.environ["STALLS_SWITCH_MS"]) / 1e3)
        vars(serve_run)["shorten_switches"] = lambda: None
    SystemFile.sync = _slow_sync  # type: ignore[method-assign]  # the class has the port's contract
    SystemFiles.sync_directory = _slow_sync_directory  # type: ignore[method-assign]  # as above
    vars(serve_run)["Node"] = ProbedNode  # the command composes its own node
    main()

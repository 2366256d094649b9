"""Freed memory that malloc keeps, returned to the system when the broker is quiet (Kafka: none).

`keep_freed_memory` makes frames fast, but after a burst of large requests or responses the process
keeps their memory, also the free ranges between buffers that are still in use. While the broker
works, that memory serves the next requests. When it is quiet and has grown, a worker gives the
memory back: a few milliseconds for 100 MiB.
"""

import ctypes
import time
from collections.abc import Callable
from mmap import PAGESIZE
from pathlib import Path
from typing import Final, NamedTuple

from cordwood.core.ports import Lane, Worker

CHECK_MS: Final = 5_000
#: The processor time between two checks with which a broker counts as quiet.
QUIET_S: Final = 0.5
#: The growth of the resident memory after which it is worth a trim.
GROWTH_BYTES: Final = 32 * 1024 * 1024
_STATM: Final = Path("/proc/self/statm")


class ProcessMemory(NamedTuple):
    """Measurements of this process, and the call that returns freed memory to the system."""

    resident_bytes: Callable[[], int]
    processor_s: Callable[[], float]
    trim: Callable[[], object]


class FreedMemory:
    """Decides when to trim; `check` is called every CHECK_MS on the loop's thread."""

    __slots__ = ("_floor", "_process", "_used_s", "_worker")

    def __init__(self, worker: Worker, process: ProcessMemory) -> None:
        self._worker = worker
        self._process = process
        self._used_s = process.processor_s()
        #: The resident memory after the last trim, or the least since.
        self._floor = process.resident_bytes()

    def check(self) -> None:
        """Begin a trim if the broker is quiet and has grown."""
        process, before_s = self._process, self._used_s
        self._used_s = process.processor_s()
        resident = process.resident_bytes()
        self._floor = min(self._floor, resident)
        if self._used_s - before_s < QUIET_S and resident > self._floor + GROWTH_BYTES:
            # The memory that a trim leaves is in use. If it leaves less, the next check sees it.
            self._floor = resident
            self._worker.submit(process.trim, lane=Lane.BACKGROUND)


def system_memory() -> ProcessMemory | None:
    """Return the calls of this system; None without glibc, whose malloc keeps freed memory."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
        _resident_bytes()
    except (OSError, AttributeError):
        return None
    return ProcessMemory(_resident_bytes, time.process_time, lambda: trim(0))


def _resident_bytes() -> int:
    return int(_STATM.read_text().split()[1]) * PAGESIZE

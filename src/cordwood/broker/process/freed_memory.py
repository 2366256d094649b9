"""Freed memory that malloc keeps, returned to the system when the broker is quiet (Kafka: none).

`keep_freed_memory` makes frames fast, but after a burst of large requests or responses the process
keeps their memory, also the free ranges between buffers that are still in use. While the broker
works, that memory serves the next requests. When it is quiet and has grown, a worker gives the
memory back: a few milliseconds for 100 MiB.

Requests and responses under way count as neither growth nor floor. A broker whose clients do not
read is quiet, and a trim leaves their responses; when they end, their memory has to be returned.

A broker makes no full garbage collection while it works (`process_tuning`). Objects in cycles are
freed before memory is given back, and in the first quiet moment of each hour.
"""

import ctypes
import time
from collections.abc import Callable
from mmap import PAGESIZE
from pathlib import Path
from typing import Final, NamedTuple

from cordwood.broker.process.process_tuning import collect_all
from cordwood.core.ports import Lane, Worker

CHECK_MS: Final = 5_000
#: The processor time between two checks with which a broker counts as quiet: a fifth of one.
QUIET_S: Final = 1.0
#: The checks from one full collection to the next: an hour of them.
CHECKS_PER_COLLECTION: Final = 720
#: The growth of the resident memory after which it is worth a trim.
GROWTH_BYTES: Final = 32 * 1024 * 1024
_STATM: Final = Path("/proc/self/statm")


class ProcessMemory(NamedTuple):
    """Measurements of this process, and the calls that free memory and return it to the system."""

    resident_bytes: Callable[[], int]
    processor_s: Callable[[], float]
    trim: Callable[[], object]
    collect: Callable[[], object]


class FreedMemory:
    """Decides when to free memory; `check` is called every CHECK_MS on the loop's thread."""

    __slots__ = ("_checks", "_floor", "_process", "_under_way", "_used_s", "_worker")

    def __init__(
        self, worker: Worker, process: ProcessMemory, under_way: Callable[[], int]
    ) -> None:
        """Use `under_way` for the bytes of requests and responses."""
        self._worker = worker
        self._process = process
        self._under_way = under_way
        self._used_s = process.processor_s()
        self._checks = 0
        #: The other resident memory after the last trim, or the least since.
        self._floor = self._other_bytes()

    def check(self) -> None:
        """Collect all garbage if that is due, and begin a trim, if the broker is quiet."""
        process, before_s = self._process, self._used_s
        self._used_s = process.processor_s()
        other = self._other_bytes()
        self._floor = min(self._floor, other)
        self._checks += 1
        if self._used_s - before_s >= QUIET_S:
            return
        has_grown = other > self._floor + GROWTH_BYTES
        if has_grown or self._checks >= CHECKS_PER_COLLECTION:
            self._checks = 0
            process.collect()
        if has_grown:
            # The memory that a trim leaves is in use. If it leaves less, the next check sees it.
            self._floor = other
            self._worker.submit(process.trim, lane=Lane.BACKGROUND)

    def _other_bytes(self) -> int:
        return self._process.resident_bytes() - self._under_way()


def system_memory() -> ProcessMemory | None:
    """Return the calls of this system; None without glibc, whose malloc keeps freed memory."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
        _resident_bytes()
    except (OSError, AttributeError):
        return None
    return ProcessMemory(_resident_bytes, time.process_time, lambda: trim(0), collect_all)


def _resident_bytes() -> int:
    return int(_STATM.read_text().split()[1]) * PAGESIZE

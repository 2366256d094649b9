"""Freed memory that malloc keeps, returned to the system when the broker is quiet (Kafka: none).

`keep_freed_memory` makes frames fast, but after a burst of large requests or responses the process
keeps their memory, also the free ranges between buffers that are still in use. While the broker
works, that memory serves the next requests. When it is quiet and malloc keeps more than before, a
worker gives the memory back: a few milliseconds for 100 MiB.

The kept memory is the resident memory without the memory that malloc has in use. A broker whose
clients do not read is quiet: a trim leaves their responses, and when they end, malloc keeps theirs.
The resident memory alone would be the same before and after their end.

A broker makes no full garbage collection while it works (`process_tuning`). In a quiet moment after
the resident memory has grown it collects the recent objects, those of the burst. All objects are
collected once a day: with 10,000 partitions that takes half a second.
"""

import ctypes
import time
from collections.abc import Callable
from mmap import PAGESIZE
from pathlib import Path
from typing import Final, NamedTuple

from cordwood.broker.process.process_tuning import collect_all, collect_recent
from cordwood.core.ports import Lane, Worker

CHECK_MS: Final = 5_000
#: The processor time between two checks with which a broker counts as quiet: a fifth of one.
QUIET_S: Final = 1.0
#: The checks from one full collection to the next: a day of them.
CHECKS_PER_COLLECTION: Final = 17_280
#: The growth of the resident memory after which a collection is worth its time, and that of the
#: kept memory after which a trim is.
GROWTH_BYTES: Final = 32 * 1024 * 1024
_STATM: Final = Path("/proc/self/statm")
#: The fields of `struct mallinfo2`.
_FIELDS: Final = (
    *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
    *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
)


class ProcessMemory(NamedTuple):
    """Measurements of this process, and the calls that free memory and return it to the system."""

    resident_bytes: Callable[[], int]
    used_bytes: Callable[[], int]
    processor_s: Callable[[], float]
    trim: Callable[[], object]
    collect_recent: Callable[[], object]
    collect_all: Callable[[], object]


class FreedMemory:
    """Decides when to free memory; `check` is called every CHECK_MS on the loop's thread."""

    __slots__ = ("_checks", "_kept_floor", "_process", "_resident_floor", "_used_s", "_worker")

    def __init__(self, worker: Worker, process: ProcessMemory) -> None:
        self._worker = worker
        self._process = process
        self._used_s = process.processor_s()
        self._checks = 0
        #: The resident memory at the last collection, or the least since.
        self._resident_floor = process.resident_bytes()
        #: The kept memory at the last trim, or the least since.
        self._kept_floor = self._resident_floor - process.used_bytes()

    def check(self) -> None:
        """Collect garbage and begin a trim, if the broker is quiet and they are due."""
        process, before_s = self._process, self._used_s
        self._used_s = process.processor_s()
        resident = process.resident_bytes()
        self._resident_floor = min(self._resident_floor, resident)
        self._checks += 1
        if self._used_s - before_s >= QUIET_S:
            return
        if self._checks >= CHECKS_PER_COLLECTION:
            self._checks = 0
            process.collect_all()
        elif resident > self._resident_floor + GROWTH_BYTES:
            self._resident_floor = resident
            process.collect_recent()
        kept = process.resident_bytes() - process.used_bytes()
        self._kept_floor = min(self._kept_floor, kept)
        if kept > self._kept_floor + GROWTH_BYTES:
            # The memory that a trim leaves stays kept. If it leaves less, the next check sees it.
            self._kept_floor = kept
            self._worker.submit(process.trim, lane=Lane.BACKGROUND)


class _MallocInfo(ctypes.Structure):
    """The account of malloc."""

    _fields_ = tuple((name, ctypes.c_size_t) for name in _FIELDS)

    hblkhd: int
    uordblks: int


def system_memory() -> ProcessMemory | None:
    """Return the calls of this system; None without glibc, whose malloc keeps freed memory."""
    try:
        library = ctypes.CDLL(None)
        trim = library.malloc_trim
        _resident_bytes()
    except (OSError, AttributeError):
        return None
    return ProcessMemory(
        resident_bytes=_resident_bytes,
        used_bytes=_used_bytes(library),
        processor_s=time.process_time,
        trim=lambda: trim(0),
        collect_recent=collect_recent,
        collect_all=collect_all,
    )


def _used_bytes(library: ctypes.CDLL) -> Callable[[], int]:
    """Return the call for the bytes that malloc has in use: 0 with glibc before 2.33."""
    try:
        info = library.mallinfo2
    except AttributeError:
        return lambda: 0
    info.restype = _MallocInfo

    def used() -> int:
        found: _MallocInfo = info()
        return found.uordblks + found.hblkhd

    return used


def _resident_bytes() -> int:
    return int(_STATM.read_text().split()[1]) * PAGESIZE

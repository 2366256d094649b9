"""Tuning of malloc, garbage collector and threads, for a process that is only a broker.

Frames are allocated and freed thousands of times a second. By default the C library returns large
buffers to the system at once and gets them back page by page, which costs several times as much as
receiving into them. `keep_freed_memory` makes glibc keep freed memory, and have one arena for all
threads: `malloc_trim` returns nothing from the top of another thread's arena, up to 64 MiB.

A full garbage collection visits every object while all requests wait: 20 to 30 ms after the start,
more with many partitions. Objects of the startup live as long as the process. `exempt_from_gc`
excludes them, so that a collection visits only what requests leave. That is still much with
thousands of connections, or after the creation of topics: 45 ms for a thousand
partitions. Requests and connections leave next to no cycles, so `replace_full_collections` excludes
what has become old, where the interpreter would collect it. `collect_recent` and `collect_all` are
for quiet moments. A collection of recent objects takes up to 12 ms: OldObjects leaves it
at most 150,000 of them.

A worker thread that runs Python keeps the interpreter lock for a switch interval, 5 ms by default.
The event loop needs the lock again after each system call, and competes with all workers for it.
`shorten_switches` makes the interval short (docs/decisions/0019-switch-interval.md).
"""

import ctypes
import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8

#: Buffers up to this size come from kept memory; glibc accepts no higher limit.
KEPT_BUFFER_BYTES: Final = 32 * 1024 * 1024
#: The freed memory that stays with the process.
KEPT_BYTES: Final = 64 * 1024 * 1024
#: The time for which a thread keeps the interpreter lock while others wait for it.
SWITCH_INTERVAL_S: Final = 0.0002
#: The collections of the middle generation after which its survivors are old. Each of them follows
#: 7,000 more objects.
MIDDLE_COLLECTIONS: Final = 20
_MIDDLE: Final = 1
_NEVER: Final = 1_000_000_000


def shorten_switches() -> None:
    """Let a waiting thread have the interpreter lock soon."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)


class OldObjects:
    """A callback of the garbage collector that exempts the survivors of its middle generation."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        """Count a collection; exempt all objects after MIDDLE_COLLECTIONS of them."""
        if phase == "stop" and info["generation"] == _MIDDLE:
            self._count += 1
            if self._count >= MIDDLE_COLLECTIONS:
                self._count = 0
                gc.freeze()


def replace_full_collections() -> None:
    """Exempt old objects instead of full collections, which the interpreter makes no longer."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
    gc.callbacks.append(OldObjects())


def collect_recent() -> None:
    """Collect the objects that are not exempt; exempt those that are left."""
    gc.collect()
    gc.freeze()


def collect_all() -> None:
    """Make a full collection of all objects, also of exempt ones; exempt those that are left."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def keep_freed_memory() -> bool:
    """Make malloc keep freed memory; return False if the C library is not glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc
        return False
    limits = (
        (_M_MMAP_THRESHOLD, KEPT_BUFFER_BYTES),
        (_M_TRIM_THRESHOLD, KEPT_BYTES),
        (_M_ARENA_MAX, 1),
    )
    return all(mallopt(parameter, limit) == 1 for parameter, limit in limits)


@contextmanager
def exempt_from_gc() -> Iterator[None]:
    """Disable the garbage collector inside the block, and exempt all objects that exist at its end.

    The effect is process-wide, and blocks must not overlap.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()

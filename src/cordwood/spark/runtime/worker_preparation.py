"""Preparation of a Spark worker before a task: garbage collector, memory pool and freed memory.

PySpark's worker runs a full garbage collection after each task. With pyarrow loaded it takes
longer than a small task. So objects that are loaded once are frozen.

Arrow allocates from the system. Its own pool keeps free memory, about 20 MB of the 300 MB budget of
a task, and is not faster for these batches. Memory that earlier tasks freed is returned from the C
library to the system, or it would grow with each task.
"""

import ctypes
import gc
from contextlib import suppress
from functools import cache

import pyarrow as pa

from cordwood.core.errors import KernelLibraryError
from cordwood.records import kernels


def prepare_worker() -> None:
    """Prepare the worker for a task; return freed memory to the system."""
    load_once()
    trim_memory()


def trim_memory() -> bool:
    """Return freed memory to the system (`malloc_trim`); False if the C library cannot."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # not glibc
        return False
    return bool(trim(0))


@cache
def load_once() -> None:
    """Load the kernels, use the system's allocator, and freeze loaded objects; once per process.

    The task that uses kernels raises the error of an unusable library, as its result.
    """
    with suppress(KernelLibraryError):
        kernels.decoder()
    pa.set_memory_pool(pa.system_memory_pool())
    gc.collect()
    gc.freeze()

"""Warm-up of Spark workers: kernels are compiled once a machine, before a task reads.

Other programs read in plain Python until the kernels are compiled. A task reads gigabytes, so it
waits for the compiler; later tasks load the cached machine code. If kernels cannot be compiled, a
task reads slowly, and each worker writes a line to its log.

PySpark's worker runs a full garbage collection after each task. With pyarrow and numba loaded it
takes longer than a small task. So objects that are loaded once are frozen.

Arrow allocates from the system. Its own pool keeps free memory, about 20 MB of the 300 MB budget of
a task, and is not faster for these batches. Memory that earlier tasks freed is returned from the C
library to the system, or it would grow with each task.
"""

import ctypes
import gc
import sys
from functools import cache
from typing import Final

import pyarrow as pa

from cordwood.core.errors import KafkaStorageError
from cordwood.records import kernels
from cordwood.records.kernels.kernel_cache import packages

_IN_ARCHIVE: Final = (
    "cordwood: reading in plain Python, many times slower than with kernels, which cannot be"
    " compiled inside a zip; install the package on each machine, or ship it with --archives"
)


def prepare_worker() -> None:
    """Prepare the worker for a task: load kernels, and return freed memory to the system."""
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
    """Compile missing kernels and load them, once per process."""
    if not packages():
        _say(_IN_ARCHIVE)
    elif _compiled():
        kernels.decoder()
    pa.set_memory_pool(pa.system_memory_pool())
    gc.collect()
    gc.freeze()


def _compiled() -> bool:
    """Return whether kernels are compiled, after an attempt to compile them."""
    try:
        if not kernels.is_warm():
            kernels.warm(_say)
    except KafkaStorageError as error:
        _say(f"cordwood: {error}")
        return False
    return True


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()

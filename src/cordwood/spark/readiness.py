"""Kernels in tasks: compiled once a machine, before the first bytes are read.

Elsewhere nobody waits for a compiler, and plain Python reads meanwhile. A task has gigabytes before
it, so it waits; whoever comes second finds all done. Where kernels cannot be compiled a task reads
slowly and says so, once a worker, where Spark keeps what workers say.

Behind each task PySpark's worker looks at every object that there is for garbage: with pyarrow and
numba loaded that takes longer than a small task does. So what is loaded once is frozen.

Arrow has its memory from the system: its own pool keeps what is free for later, which are some
twenty of the 300 MB that a task may take, and is no faster with what is made here. What the C
library keeps of the tasks before goes back as well, or each would leave some more behind.
"""

import ctypes
import gc
import sys
from functools import cache
from typing import Final

import pyarrow as pa

from cordwood.core.errors import KafkaStorageError
from cordwood.records import kernels
from cordwood.records.kernels.cache import packages

_IN_ARCHIVE: Final = (
    "cordwood: plain Python reads here, many times slower than kernels, which cannot be compiled"
    " inside of a zip: install the package on each machine, or ship it unpacked, with --archives"
)


def make_ready() -> None:
    """Let a task begin: with kernels, and without the memory that those before it have freed."""
    load_once()
    give_back_memory()


def give_back_memory() -> bool:
    """Give freed memory back to the system; False where the C library is not asked for it."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):  # not glibc
        return False
    return bool(trim(0))


@cache
def load_once() -> None:
    """Compile what is not compiled yet, and load it; once a process, for it only asks once."""
    if not packages():
        _say(_IN_ARCHIVE)
    elif _compiled():
        kernels.decoder()
    pa.set_memory_pool(pa.system_memory_pool())
    gc.collect()
    gc.freeze()


def _compiled() -> bool:
    """Whether there are kernels, by now."""
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

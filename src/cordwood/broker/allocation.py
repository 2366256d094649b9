"""How a process keeps the memory of frames, which is taken and freed thousands of times a second.

The C library gives large buffers back to the system at once and takes them anew, page by page: that
costs several times as much as receiving into them. glibc can be told to keep what was freed.
"""

import ctypes
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3

#: Buffers up to this size come from memory that is kept; it is the most that glibc takes.
KEPT_BUFFER_BYTES: Final = 32 * 1024 * 1024
#: So much freed memory stays with the process.
KEPT_BYTES: Final = 64 * 1024 * 1024


def keep_freed_memory() -> bool:
    """Keep freed memory from now on, in the whole process; False where that cannot be asked for.

    It is for a process that is a broker and nothing else.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # not glibc
        return False
    limits = ((_M_MMAP_THRESHOLD, KEPT_BUFFER_BYTES), (_M_TRIM_THRESHOLD, KEPT_BYTES))
    return all(mallopt(parameter, limit) == 1 for parameter, limit in limits)

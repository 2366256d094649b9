"""What Python's garbage collector looks at in a process that is a broker: nothing that stays.

A full collection looks at every object in one go, and everybody waits: 50 ms while the kernels come
in, more with many partitions. What is made at the start, and what kernels bring, stays to the end,
so it is set aside, and a collection has only what requests have left to look at.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def made_to_stay() -> Iterator[None]:
    """Collect nothing while something is made, and look at nothing of it afterwards.

    For the whole process, so not for one that is more than a broker, nor twice at a time.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()

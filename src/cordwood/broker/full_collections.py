"""Full garbage collections, which wait while large messages exist (Kafka: none, by its collector).

A full collection visits every object of the process, and the interpreter runs nothing meanwhile.
The objects of one large request double that time, and trigger a collection by their number.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: Collections of the middle generation before a full one.
_NEVER: Final = 1_000_000_000


class _Holds:
    """The blocks of all threads in which there is no full collection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._before = gc.get_threshold()

    def begin(self) -> None:
        with self._lock:
            if not self._count:
                self._before = gc.get_threshold()
                gc.set_threshold(*self._before[:2], _NEVER)
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                gc.set_threshold(*self._before)


_HOLDS: Final = _Holds()


@contextmanager
def without_full_collections() -> Iterator[None]:
    """Make no full collection inside the block, in the whole process; blocks may overlap."""
    _HOLDS.begin()
    try:
        yield
    finally:
        _HOLDS.end()

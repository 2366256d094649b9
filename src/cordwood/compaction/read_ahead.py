"""Reads that overlap with processing: a worker thread reads the next block.

Reads and kernels release the GIL. So with a second core, reads take hardly any time of a pass. Only
the reads move to the worker: progress, stop and throttling stay with the caller. Without a worker
the caller reads by itself, with the same results.
"""

from collections.abc import Callable, Generator, Iterable
from typing import Final, TypeVar

from cordwood.core.ports import Lane, Pending, Worker

T = TypeVar("T")

#: Buffers of a reader, used in turns: one is in use while the other is filled.
BUFFERS_AHEAD: Final = 2


def read_ahead(calls: Iterable[Callable[[], T]], worker: Worker | None) -> Generator[T, None, None]:
    """Yield the result of each call, in order; a worker makes the next call meanwhile.

    When the generator is closed, no call is under way.
    """
    if worker is None:
        for call in calls:
            yield call()
        return
    due: Pending[T] | None = None
    try:
        for call in calls:
            now, due = due, worker.submit(call, lane=Lane.READ)
            if now is not None:
                yield now.result()
        if due is not None:
            yield due.result()
    finally:
        if due is not None:
            due.exception()

"""What is read next, read by a thread while what was read before is used.

Reads and kernels let the interpreter go, so where there is a second core reads take hardly any time
of a pass. Nothing else moves there: a pass is told, stopped and slowed down where it was before.
Without a worker everything is read where it is asked for; what comes of it is the same.
"""

from collections.abc import Callable, Generator, Iterable
from typing import Final, TypeVar

from cordwood.core.ports import Pending, Worker

T = TypeVar("T")

#: Buffers that a reader takes turns with: one is used while the other is filled.
BUFFERS_AHEAD: Final = 2


def ahead(calls: Iterable[Callable[[], T]], worker: Worker | None) -> Generator[T, None, None]:
    """Yield what each call returns, in order; with a worker the next one is made meanwhile.

    Once it is closed no call is under way.
    """
    if worker is None:
        for call in calls:
            yield call()
        return
    due: Pending[T] | None = None
    try:
        for call in calls:
            now, due = due, worker.submit(call)
            if now is not None:
                yield now.result()
        if due is not None:
            yield due.result()
    finally:
        if due is not None:
            due.exception()

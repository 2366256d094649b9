"""The same done to many logs on the worker, a few at a time of each log directory.

Opening or closing a log takes dozens of short calls of the system, and at each of them Python hands
the interpreter over: threads beyond a second one only wait for it and wake each other, and eight
take twice as long as two for 10,000 logs. Where logs are large, or disks slow, more may pay.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from cordwood.core.ports import Worker

T = TypeVar("T")


class Task(NamedTuple, Generic[T]):
    """What is done to one log, and the directory that it is in."""

    directory: str
    call: Callable[[], T]


def outcomes(worker: Worker, tasks: Sequence[Task[T]], *, lanes: int) -> list[T | Exception]:
    """Do all of them, `lanes` at a time of each directory; return what came of each, in order."""
    done: dict[int, T | Exception] = {}
    waiting: dict[str, deque[tuple[int, Callable[[], T]]]] = defaultdict(deque)
    for number, task in enumerate(tasks):
        waiting[task.directory].append((number, task.call))
    pendings = [
        worker.submit(partial(_work_off, queue, done))
        for queue in waiting.values()
        for _ in range(min(lanes, len(queue)))
    ]
    for pending in pendings:
        pending.result()
    return [done[number] for number in range(len(tasks))]


def _work_off(queue: deque[tuple[int, Callable[[], T]]], done: dict[int, T | Exception]) -> None:
    """Take one after the other, as the other lanes of the directory do, until none is left."""
    while True:
        try:
            number, call = queue.popleft()
        except IndexError:
            return
        try:
            done[number] = call()
        except Exception as error:  # noqa: BLE001  # it is the end of this log alone
            done[number] = error

"""Tasks on many logs, run on the worker with a few threads per log directory.

Opening or closing a log takes dozens of short system calls, and Python releases the interpreter
lock at each of them. Threads beyond a second one mostly wait for that lock and wake each other:
eight threads take twice as long as two for 10,000 logs. Larger logs or slower disks may benefit
from more threads.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from cordwood.core.ports import Lane, Worker

T = TypeVar("T")


class DirectoryTask(NamedTuple, Generic[T]):
    """A call that works on one log, and the log directory that contains the log."""

    directory: str
    call: Callable[[], T]


def run_per_directory(
    worker: Worker, tasks: Sequence[DirectoryTask[T]], *, threads: int
) -> list[T | Exception]:
    """Run all tasks, `threads` at a time per directory; return results or errors in task order."""
    outcomes: dict[int, T | Exception] = {}
    queues: dict[str, deque[tuple[int, Callable[[], T]]]] = defaultdict(deque)
    for number, task in enumerate(tasks):
        queues[task.directory].append((number, task.call))
    pendings = [
        worker.submit(partial(_run_queue, queue, outcomes), lane=Lane.BACKGROUND)
        for queue in queues.values()
        for _ in range(min(threads, len(queue)))
    ]
    for pending in pendings:
        pending.result()
    return [outcomes[number] for number in range(len(tasks))]


def _run_queue(
    queue: deque[tuple[int, Callable[[], T]]], outcomes: dict[int, T | Exception]
) -> None:
    """Run tasks until the queue, which other threads share, is empty."""
    while True:
        try:
            number, call = queue.popleft()
        except IndexError:
            return
        try:
            outcomes[number] = call()
        except Exception as error:  # noqa: BLE001  # it concerns this log alone
            outcomes[number] = error

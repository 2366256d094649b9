"""Stacks of all threads and tasks, as log events (Kafka: the thread dump of the JVM at SIGQUIT).

A task that waits is shown with all its coroutines, the innermost last. Tasks with the same stack
share one line, since a broker has a task for each connection. Calls of threads have the names of
their functions, calls of tasks the qualified ones.
"""

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Final, Protocol, cast

from cordwood.broker.process.thread_stacks import Call, ThreadStacks
from cordwood.observability.logs import fields

if TYPE_CHECKING:
    import asyncio

_BETWEEN: Final = " > "

_log = logging.getLogger(__name__)


class _Suspended(Protocol):
    """A coroutine, with what it awaits."""

    cr_frame: FrameType | None
    cr_await: object


def log_stacks(tasks: Iterable["asyncio.Task[object]"]) -> None:
    """Log one event for each thread, and one for each different stack of the tasks."""
    names = {each.ident: each.name for each in threading.enumerate()}
    for ident, calls in _threads().items():
        stack = _BETWEEN.join(map(str, calls))
        _log.warning("stack", extra=fields(thread=names.get(ident, str(ident)), stack=stack))
    stacks = Counter(_BETWEEN.join(_task_calls(each)) for each in tasks)
    for stack, count in stacks.most_common():
        _log.warning("stack", extra=fields(tasks=count, stack=stack))


def _threads() -> dict[int, list[Call]]:
    try:
        with closing(ThreadStacks()) as stacks:
            return stacks.read()
    except OSError as error:  # the process has no descriptor left
        _log.warning("no stacks of threads", extra=fields(reason=str(error)))
        return {}


def _task_calls(task: "asyncio.Task[object]") -> Iterator[str]:
    """Yield the calls of a task, the outermost first."""
    awaited: object = task.get_coro()
    while hasattr(awaited, "cr_frame"):
        coroutine = cast("_Suspended", awaited)
        if coroutine.cr_frame is not None:
            yield _call(coroutine.cr_frame.f_code, coroutine.cr_frame.f_lineno)
        awaited = coroutine.cr_await
    if awaited is not None:
        yield type(awaited).__name__


def _call(code: CodeType, line: int | None) -> str:
    return f"{code.co_qualname} ({code.co_filename}:{line})"

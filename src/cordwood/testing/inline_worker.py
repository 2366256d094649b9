"""Worker without threads: calls run at once, on the submitting thread."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from cordwood.core.ports import Lane, OpenFile

T = TypeVar("T")


class InlineWorker:
    """The Worker port without threads: every result is complete when `submit` returns."""

    def __init__(self) -> None:
        self._is_closed = False

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:  # noqa: ARG002 - the port
        if self._is_closed:
            raise RuntimeError("the worker is closed")
        pending: Future[T] = Future()
        try:
            pending.set_result(call())
        except Exception as error:  # noqa: BLE001 - the worker owns the task; the future carries it
            pending.set_exception(error)
        return pending

    def sync(self, file: OpenFile) -> Future[None]:
        return self.submit(file.sync, lane=Lane.FLUSH)

    def close(self) -> None:
        self._is_closed = True

"""Threads of a worker's lanes (Kafka: `KafkaScheduler` and the pools of request handlers).

It is a part of `core.system`, and the only other core module with side effects.
"""

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from types import MappingProxyType
from typing import Final, TypeVar

from cordwood.core.ports import Lane

T = TypeVar("T")

#: The most threads of each lane.
LANE_THREADS: Final[Mapping[Lane, int]] = MappingProxyType(
    {
        # They wait for the disk, and a file system joins fsyncs that run at the same time.
        Lane.FLUSH: 8,
        # They wait for the disk, and a disk answers several reads at the same time.
        Lane.READ: 8,
        # They wait for the journal of the file system.
        Lane.FILES: 4,
        # One change of the metadata runs at a time; the second thread serves reads of the store.
        Lane.METADATA: 2,
        # More threads than processors take turns only. More than two delay the event loop, which
        # has to wait for the interpreter lock.
        Lane.COMPUTE: min(2, os.cpu_count() or 1),
        # Log directories are loaded in parallel at startup, and closed at shutdown.
        Lane.BACKGROUND: 8,
    }
)


class LaneThreads:
    """Threads of one lane, of which one is idle until there are `most` of them.

    A thread that takes a call starts the next idle one. `submit` starts none but the first, because
    `Thread.start` waits until the new thread runs: that is 100 ms on a busy machine, and the caller
    is an event loop.
    """

    def __init__(self, lane: Lane, most: int) -> None:
        self._name = f"cordwood-{lane.value}"
        self._most = most
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._is_closed = False

    def ensure_idle(self) -> None:
        """Start a thread if none is idle and there may be another one.

        If the system starts no thread, those that run take all calls; RuntimeError if none runs.
        """
        with self._lock:
            if self._idle or len(self._threads) == self._most:
                return
            self._idle += 1
            number = len(self._threads)
            thread = threading.Thread(target=self._run, name=f"{self._name}-{number}", daemon=True)
            self._threads.append(thread)
        try:
            thread.start()
        except RuntimeError:
            with self._lock:
                self._idle -= 1
                self._threads.remove(thread)
                if not self._threads:
                    raise

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Start a call soon."""
        pending: Future[T] = Future()
        if not self._threads:
            self.ensure_idle()
        with self._lock:
            if self._is_closed:
                raise RuntimeError("cannot schedule new calls after shutdown")
            self._calls.put(partial(_complete, pending, call))
        return pending

    def end(self) -> None:
        """Reject further calls; the threads end after the submitted ones."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._most = len(self._threads)
        for _ in self._threads:
            self._calls.put(None)

    def close(self) -> None:
        """Wait for all calls. A thread is joined before those that it has started."""
        self.end()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while self._run_next():
            with self._lock:
                self._idle += 1

    def _run_next(self) -> bool:
        """Run the next call; return False at the end. A returned frame keeps no call alive.

        The traceback of a failed call keeps the frame, and its future the traceback.
        """
        call = self._calls.get()
        with self._lock:
            self._idle -= 1
        if call is None:
            return False
        self.ensure_idle()
        call()
        del call
        return True


def _complete(pending: Future[T], call: Callable[[], T]) -> None:
    if not pending.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - the worker owns the task; the future carries it
        pending.set_exception(error)
        del pending, call
    else:
        pending.set_result(result)

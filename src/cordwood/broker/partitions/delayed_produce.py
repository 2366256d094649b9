"""Appends that wait until their records count (Kafka: `DelayedProduce`).

    acks 1     the own end of the leader has reached the end of the append
    acks all   the high watermark has reached it

Every waiting append gets exactly one outcome: its result, an error of the partition, or
RequestTimedOutError after the time of its request. The records stay in the log in all cases; a
producer that sends them again gets the result of the first append.
"""

from concurrent.futures import Future
from functools import partial
from typing import Generic, TypeVar

from cordwood.broker.partitions.offset_waiters import OffsetWaiter, OffsetWaiters
from cordwood.core.errors import KafkaError, RequestTimedOutError
from cordwood.core.ports import Clock, Pending, Scheduler, Timer

R = TypeVar("R")


class WrittenAppend(Future[R]):
    """The outcome of an append that is written, and waits until it counts."""


class _WaitingAppend(Generic[R]):
    """An append with its result, and the timer of its request if it has one."""

    __slots__ = ("done", "needs_all_replicas", "result", "timer")

    def __init__(self, result: R, *, needs_all_replicas: bool) -> None:
        self.result = result
        self.needs_all_replicas = needs_all_replicas
        self.done = WrittenAppend[R]()
        self.timer: Timer | None = None

    def end(self, error: KafkaError | None = None) -> None:
        """Set the outcome; only the first call has an effect."""
        if self.done.done():
            return
        if self.timer is not None:
            self.timer.cancel()
        if error is None:
            self.done.set_result(self.result)
        else:
            self.done.set_exception(error)


class DelayedProduce(Generic[R]):
    """The waiting appends of one partition. Used on the thread that owns the log."""

    __slots__ = ("_clock", "_for_all", "_for_leader", "_scheduler", "_waiting")

    def __init__(self, clock: Clock, scheduler: Scheduler) -> None:
        self._clock = clock
        self._scheduler = scheduler
        self._for_leader = OffsetWaiters[int]()
        self._for_all = OffsetWaiters[int]()
        #: The waiting appends, each with its place in one of the heaps.
        self._waiting: dict[_WaitingAppend[R], OffsetWaiter] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(
        self, end: int, result: R, *, needs_all_replicas: bool, timeout_ms: int | None
    ) -> Pending[R]:
        """Return the outcome of an append that ends at `end`; it does not count yet."""
        append = _WaitingAppend(result, needs_all_replicas=needs_all_replicas)
        waiters = self._for_all if needs_all_replicas else self._for_leader
        self._waiting[append] = waiters.add(end, partial(self._end, append))
        if timeout_ms is not None:
            error = RequestTimedOutError(
                f"the records are written, but do not count after {timeout_ms} ms; send them again"
            )
            when_ms = self._clock.monotonic_ms() + timeout_ms
            append.timer = self._scheduler.call_at(when_ms, partial(self._end, append, error))
        return append.done

    def reach(self, *, own_end: int, high_watermark: int) -> None:
        """Complete the appends whose records count by now."""
        self._for_leader.reach(own_end)
        self._for_all.reach(high_watermark)

    def fail(self, error: KafkaError, *, only_all_replicas: bool = False) -> None:
        """Fail the waiting appends: it is unknown whether their records will count."""
        for append in tuple(self._waiting):
            if append.needs_all_replicas or not only_all_replicas:
                self._end(append, error)

    def _end(self, append: _WaitingAppend[R], error: KafkaError | None = None) -> None:
        waiter = self._waiting.pop(append, None)
        if waiter is not None:
            waiters = self._for_all if append.needs_all_replicas else self._for_leader
            waiters.cancel(waiter)
        append.end(error)

"""Result of one produced batch (Java: `ProduceRequestResult`): pending, then an offset or an error.

All records of a batch share one result, so that a batch of a thousand records is completed once.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from cordwood.core.errors import KafkaError
from cordwood.core.types import NO_OFFSET, NO_TIMESTAMP, TopicPartition


class DeliveryReport(NamedTuple):
    """Position of a delivered record (Java: `RecordMetadata`).

    The offset is -1 if the broker did not report it: with `acks=0`, or for a duplicate.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int


class BatchResult:
    """Result of a batch, completed on one thread; other threads may wait for it."""

    __slots__ = ("_callbacks", "base_offset", "error", "is_done", "log_append_time", "partition")

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.is_done = False
        self.base_offset: int = NO_OFFSET
        self.log_append_time: int = NO_TIMESTAMP
        self.error: KafkaError | None = None
        self._callbacks: deque[Callable[[], object]] = deque()

    def succeed(self, base_offset: int, log_append_time: int) -> None:
        """Complete the result with the batch's base offset."""
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self._complete()

    def fail(self, error: KafkaError) -> None:
        """Complete the result with an error."""
        self.error = error
        self._complete()

    def add_callback(self, call: Callable[[], object]) -> None:
        """Call once at completion: now if it is past, else on the completing thread."""
        self._callbacks.append(call)
        if self.is_done:
            self._run_callbacks()

    def _complete(self) -> None:
        self.is_done = True
        self._run_callbacks()

    def _run_callbacks(self) -> None:
        """Run each callback once, even if two threads are here at the same time."""
        while self._callbacks:
            try:
                call = self._callbacks.popleft()
            except IndexError:
                return
            call()

    def report(self, index: int, *, timestamp: int) -> DeliveryReport:
        """Return the report of one record; `timestamp` is the one it was created with."""
        offset = self.base_offset + index if self.base_offset >= 0 else NO_OFFSET
        stamped = self.log_append_time
        return DeliveryReport(*self.partition, offset, stamped if stamped >= 0 else timestamp)

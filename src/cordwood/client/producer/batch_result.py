"""Result of one produced batch (Java: `ProduceRequestResult`): pending, then an offset or an error.

All records of a batch share one result, so that a batch of a thousand records is completed once. A
batch that is split has a result for each part, and its own result forwards to them by record index.
An error of a callback is logged, and changes nothing else (Java: `completeFutureAndFireCallbacks`).
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from cordwood.core.errors import KafkaError
from cordwood.core.types import NO_OFFSET, NO_TIMESTAMP, TopicPartition

_log = logging.getLogger(__name__)


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

    __slots__ = (
        "_callbacks",
        "base_offset",
        "error",
        "is_done",
        "log_append_time",
        "partition",
        "parts",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.is_done = False
        self.base_offset: int = NO_OFFSET
        self.log_append_time: int = NO_TIMESTAMP
        self.error: KafkaError | None = None
        #: After a split, the results of the parts with the indexes of their first records.
        self.parts: tuple[tuple[int, BatchResult], ...] = ()
        self._callbacks: deque[tuple[int, Callable[[], object]]] = deque()

    def succeed(self, base_offset: int, log_append_time: int) -> None:
        """Complete the result with the batch's base offset."""
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self._complete()

    def fail(self, error: KafkaError) -> None:
        """Complete the result with an error."""
        self.error = error
        self._complete()

    def split(self, counts: Sequence[int]) -> list["BatchResult"]:
        """Return the results of the parts with these record counts, which replace this one."""
        starts = accumulate(counts[:-1], initial=0)
        self.parts = tuple((start, BatchResult(self.partition)) for start in starts)
        self._run_callbacks()
        return [part for _, part in self.parts]

    def of_record(self, index: int) -> tuple["BatchResult", int]:
        """Return the result that has a record now, and the record's index there."""
        result = self
        while result.parts:
            start, part = next(each for each in reversed(result.parts) if each[0] <= index)
            result, index = part, index - start
        return result, index

    def add_callback(self, call: Callable[[], object], index: int = 0) -> None:
        """Call once when a record's result is known: now, or later on the completing thread."""
        self._callbacks.append((index, call))
        if self.is_done or self.parts:
            self._run_callbacks()

    def _complete(self) -> None:
        self.is_done = True
        self._run_callbacks()

    def _run_callbacks(self) -> None:
        """Run or forward each callback once, even if two threads are here at the same time."""
        while self._callbacks:
            try:
                index, call = self._callbacks.popleft()
            except IndexError:
                return
            if self.parts:
                result, index = self.of_record(index)
                result.add_callback(call, index)
                continue
            try:
                call()
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # noqa: BLE001 - a CancelledError would end the task, too
                _log.exception("%s: a delivery callback has raised an error", self.partition)

    def report(self, index: int, *, timestamp: int) -> DeliveryReport:
        """Return the report of one record; `timestamp` is the one it was created with."""
        offset = self.base_offset + index if self.base_offset >= 0 else NO_OFFSET
        stamped = self.log_append_time
        return DeliveryReport(*self.partition, offset, stamped if stamped >= 0 else timestamp)

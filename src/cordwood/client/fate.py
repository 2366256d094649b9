"""What becomes of a batch that was sent: at first unknown, then a place in a log or an error.

All records of a batch share it, so that what is said of a thousand of them is said once.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from cordwood.core.errors import KafkaError
from cordwood.core.types import NO_OFFSET, NO_TIMESTAMP, TopicPartition


class DeliveryReport(NamedTuple):
    """Where a record is. The offset is -1 where nobody says: with acks=0, or sent twice."""

    topic: str
    partition: int
    offset: int
    timestamp: int


class Fate:
    """What became of a batch. It is told on one thread and may be waited for on others."""

    __slots__ = ("_watchers", "base_offset", "error", "is_known", "log_append_time", "partition")

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.is_known = False
        self.base_offset: int = NO_OFFSET
        self.log_append_time: int = NO_TIMESTAMP
        self.error: KafkaError | None = None
        self._watchers: deque[Callable[[], object]] = deque()

    def succeed(self, base_offset: int, log_append_time: int) -> None:
        """Say where the batch is."""
        self.base_offset = base_offset
        self.log_append_time = log_append_time
        self._tell()

    def fail(self, error: KafkaError) -> None:
        """Say why it is nowhere."""
        self.error = error
        self._tell()

    def watch(self, call: Callable[[], object]) -> None:
        """Make one call when it is known: at once if it is, else on the thread that tells."""
        self._watchers.append(call)
        if self.is_known:
            self._call()

    def _tell(self) -> None:
        self.is_known = True
        self._call()

    def _call(self) -> None:
        """Make each call once, though two threads may be here at a time."""
        while self._watchers:
            try:
                call = self._watchers.popleft()
            except IndexError:
                return
            call()

    def report(self, index: int, *, timestamp: int) -> DeliveryReport:
        """Return where one of its records is, which had a timestamp of its own."""
        offset = self.base_offset + index if self.base_offset >= 0 else NO_OFFSET
        stamped = self.log_append_time
        return DeliveryReport(*self.partition, offset, stamped if stamped >= 0 else timestamp)

"""Reader at the end of a partition, which waits there over the polls of its session (Kafka: none).

Nearly all partitions of a poll have not changed since the poll before it. A reader that has found
the end stays among the waiting fetches of its partition. While it is waiting, another read would
find no record and no error, and the session has sent the bounds of the log already:

    bound of the reader, another segment      the waiter is called at the next byte
    role, leader epoch, log, deletion         each calls all waiters of the partition
    high watermark, log start                 compared with the bounds that were sent

So a poll reads the partitions of all other readers only. A reader that moves during a poll calls
the fetch of that poll.
"""

from typing import Final

from cordwood.broker.partitions.partition import Partition
from cordwood.broker.partitions.partition_fetch import PartitionFetch
from cordwood.broker.partitions.session_readers import SessionReaders
from cordwood.storage.log.log_read import FetchIsolation, LogPosition

#: The index of a reader before its first fetch.
_NO_INDEX: Final = -1


class IdleReader:
    """A reader at `start`, the end of what it may read; `index` is its place in the last fetch."""

    __slots__ = ("_bounds", "_isolation", "_readers", "_waiter", "fetch", "index", "start")

    def __init__(
        self,
        fetch: PartitionFetch,
        source: Partition,
        start: LogPosition,
        *,
        isolation: FetchIsolation,
        readers: SessionReaders,
    ) -> None:
        self.fetch = fetch
        self.start = start
        self.index = _NO_INDEX
        self._bounds = source.log.bounds
        self._isolation = isolation
        self._readers = readers
        next_byte = LogPosition(start.segment_base, start.bytes + 1)
        self._waiter = source.wait_for(next_byte, self._move, isolation=isolation)

    @property
    def is_waiting(self) -> bool:
        """Whether the reader is still at the end of a partition that has not changed."""
        return self._waiter.is_waiting

    def is_idle(self, isolation: FetchIsolation, *, high_watermark: int, log_start: int) -> bool:
        """Whether a read with this isolation would find nothing but these bounds."""
        bounds = self._bounds
        return (
            self._waiter.is_waiting
            and bounds.high_watermark == high_watermark
            and bounds.log_start == log_start
            and self._isolation is isolation
        )

    def release(self) -> None:
        """End the wait."""
        self._waiter.cancel()

    def _move(self) -> None:
        if self._readers.on_move is not None:
            self._readers.on_move(self)

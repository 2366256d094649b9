"""Replica counts of log directories, kept for some seconds.

The metadata of a Kafka broker are a log of its own, which grows twice a second. A stream asks for
the counts at each trigger, so it would read that log again each time. A count that is five seconds
old is as fresh as the high watermarks next to it. A partition without a count is looked up at once.
"""

from typing import Final

from cordwood.core.ports import Clock, Files
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.metadata.replica_counts import ReplicaCounts, read_replica_counts

_KEPT_MS: Final = 5_000


class ReplicaCountCache:
    """The counts of some log directories, each with the time of its read."""

    def __init__(self, files: Files, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._kept: dict[str, tuple[float, ReplicaCounts]] = {}

    def counts_of(self, log_directory: str) -> ReplicaCounts:
        """Return the counts of a log directory, at most five seconds old."""
        now_ms = self._clock.monotonic_ms()
        read_ms, counts = self._kept.get(log_directory, (-_KEPT_MS, None))
        if counts is None or now_ms - read_ms >= _KEPT_MS:
            counts = self._read(log_directory)

        def count(partition: TopicPartition, topic_id: Uuid | None) -> int | None:
            found = counts(partition, topic_id)
            return found if found is not None else self._read(log_directory)(partition, topic_id)

        return count

    def _read(self, log_directory: str) -> ReplicaCounts:
        counts = read_replica_counts(self._files, log_directory)
        self._kept[log_directory] = self._clock.monotonic_ms(), counts
        return counts

"""Topics served from their logs, and logs deleted once their topic is not served any more.

A partition whose log is missing or cannot be used is offline; the other partitions of its topic are
served.
"""

from collections.abc import Callable
from dataclasses import dataclass

from cordwood.broker.metadata.replica_changes import ReplicaChange
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.core.errors import FencedLeaderEpochError, KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.log_renames import LogDeletion


@dataclass(frozen=True, slots=True)
class TopicHosting:
    """The logs and the partitions served from them; `on_event` receives lines for the operator."""

    manager: LogManager
    partitions: HostedPartitions
    on_event: Callable[[str], object]

    def apply(self, change: ReplicaChange) -> None:
        """Apply a difference between two images to a partition; a state that is too old is not."""
        try:
            self.partitions.apply(change)
        except FencedLeaderEpochError as error:
            self.on_event(f"{change.topic}-{change.partition} keeps its state: {error}")

    def delete_log(self, partition: TopicPartition, deletion: LogDeletion) -> None:
        """Add the log of a partition that is not served any more, and its future log."""
        try:
            if partition in self.manager.futures:
                deletion.add_future(partition)
            if self.manager.get(partition) is not None:
                deletion.add(partition)
        except KafkaStorageError as error:
            self.report_remains(error)

    def report_remains(self, error: KafkaStorageError) -> None:
        """Report a deleted log whose files stay."""
        self.on_event(f"a partition is deleted, but its files remain: {error}")

"""Topics served from their logs, and logs deleted once their topic is not served any more.

A partition whose log is missing or cannot be used has no leader; the other partitions of its topic
have one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage.manager import log_renames
from cordwood.storage.manager.log_manager import LogManager


@dataclass(frozen=True, slots=True)
class TopicHosting:
    """The logs and the partitions served from them; `on_event` receives lines for the operator."""

    manager: LogManager
    partitions: HostedPartitions
    on_event: Callable[[str], object]

    def serve(
        self, topic: TopicImage, *, failed: Mapping[TopicPartition, KafkaStorageError]
    ) -> TopicImage:
        """Serve a topic; return it without leaders for the partitions that have `failed`."""
        for name, error in failed.items():
            if name.topic == topic.name:
                self.on_event(f"{name} cannot be served: {error}")
        epochs = [each.leader_epoch for each in topic.partitions]
        self.partitions.host(topic.name, topic_id=topic.topic_id, leader_epochs=epochs)
        return topic.without_leaders(failed) if failed else topic

    def delete_log(self, partition: TopicPartition) -> None:
        """Delete the log of a partition that is not served any more, and its future log."""
        try:
            if partition in self.manager.futures:
                log_renames.delete_future(self.manager, partition)
            if self.manager.get(partition) is not None:
                log_renames.delete(self.manager, partition)
        except KafkaStorageError as error:
            self.on_event(f"{partition} is deleted, but its files remain: {error}")

"""Topics are served here, once their logs are there; the logs go when they are served no more.

A log that is not there, or cannot be used, leaves its partition without a leader; the others have
one.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from cordwood.broker.image import TopicImage
from cordwood.broker.partitions import Partitions
from cordwood.core.errors import KafkaStorageError
from cordwood.core.types import TopicPartition
from cordwood.storage.manager import LogManager


class HostingTools(NamedTuple):
    """What partitions are served with; `on_event` hears of what an operator should know."""

    manager: LogManager
    partitions: Partitions
    on_event: Callable[[str], object]


def serve_topic(
    topic: TopicImage,
    tools: HostingTools,
    *,
    refused: Mapping[TopicPartition, KafkaStorageError],
) -> TopicImage:
    """Serve a topic whose logs are there but for those `refused`; return what it is then."""
    for name, error in refused.items():
        if name.topic == topic.name:
            tools.on_event(f"{name} cannot be served: {error}")
    epochs = [each.leader_epoch for each in topic.partitions]
    tools.partitions.host(topic.name, topic_id=topic.topic_id, leader_epochs=epochs)
    return topic.without_leaders(refused) if refused else topic


def delete_log(partition: TopicPartition, tools: HostingTools) -> None:
    """Delete the log of a partition that is served no more, and its copy."""
    manager = tools.manager
    try:
        if partition in manager.futures:
            manager.delete_future(partition)
        if manager.get(partition) is not None:
            manager.delete(partition)
    except KafkaStorageError as error:
        tools.on_event(f"{partition} is deleted, and its files are still there: {error}")

"""Changes of the stored metadata for topics that are created, grown or deleted."""

from collections.abc import Mapping, Sequence

from cordwood.broker.config.config_resources import topic_resource
from cordwood.broker.config.stored_configs import delete_texts, put_texts
from cordwood.broker.hosting import partition_states
from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.broker.metadata.topic_znodes import StoredTopic, encode_topic
from cordwood.broker.topics.topic_planning import PlannedTopic
from cordwood.core.metadata_paths import topic_path
from cordwood.core.ports import MetadataStore
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNodeChange


def creation(
    store: MetadataStore,
    *,
    planned: Sequence[PlannedTopic],
    directories: Mapping[TopicPartition, Uuid],
) -> list[ZNodeChange]:
    """Return the nodes of new topics, with the log directories that are planned for them."""
    changes: list[ZNodeChange] = []
    for topic, texts in planned:
        changes.append(CreateZNode(topic_path(topic.name), _data_of(topic)))
        changes += partition_states.creation(topic, directories, first=0)
        if texts:
            changes += put_texts(store, topic_resource(topic.name), texts=texts)
    return changes


def growth(
    _store: MetadataStore,
    *,
    grown: Sequence[tuple[TopicImage, int]],
    directories: Mapping[TopicPartition, Uuid],
) -> list[ZNodeChange]:
    """Return the changes for grown topics, each with its former number of partitions."""
    changes: list[ZNodeChange] = []
    for topic, first in grown:
        changes.append(SetZNode(topic_path(topic.name), _data_of(topic)))
        changes += partition_states.creation(topic, directories, first=first)
    return changes


def deletion(store: MetadataStore, *, doomed: Sequence[TopicImage]) -> list[ZNodeChange]:
    """Return the removal of topics with their states and configurations."""
    changes: list[ZNodeChange] = []
    for topic in doomed:
        changes += partition_states.deletion(store, topic.name)
        changes.append(DeleteZNode(topic_path(topic.name)))
        changes += delete_texts(store, topic_resource(topic.name))
    return changes


def _data_of(topic: TopicImage) -> bytes:
    replicas = [partition.replicas for partition in topic.partitions]
    return encode_topic(StoredTopic(topic.topic_id, replicas))

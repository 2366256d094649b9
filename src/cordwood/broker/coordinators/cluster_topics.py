"""Topics of a cluster image, as coordinators see them (Kafka: `KRaftCoordinatorMetadataImage`)."""

from collections.abc import Collection
from typing import Final

from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage
from cordwood.coordination.topic_view import TopicFacts, TopicView, changed_among
from cordwood.core.uuids import Uuid

#: Stands for the version of all views without topics.
_NO_TOPICS: Final = -1


class ClusterTopics:
    """A view of the topics of one image; facts are made when they are looked up."""

    __slots__ = ("_changed", "has_racks", "image")

    def __init__(self, image: ClusterImage) -> None:
        self.image: Final = image
        self.has_racks: Final = any(each.rack is not None for each in image.brokers.values())
        #: The last answer of `changed`, by the version of the other view: all shards ask the same.
        self._changed: tuple[int, frozenset[str]] | None = None

    @property
    def version(self) -> int:
        return self.image.epoch

    def by_name(self, name: str) -> TopicFacts | None:
        return self._facts(self.image.topics.get(name))

    def by_id(self, topic_id: Uuid) -> TopicFacts | None:
        return self._facts(self.image.topics_by_id.get(topic_id))

    def names(self) -> Collection[str]:
        return self.image.topics

    def changed(self, before: TopicView) -> frozenset[str]:
        version = before.version if before.names() else _NO_TOPICS
        if self._changed is None or self._changed[0] != version:
            self._changed = version, self._changed_since(before)
        return self._changed[1]

    def _changed_since(self, before: TopicView) -> frozenset[str]:
        topics = self.image.topics
        if not isinstance(before, ClusterTopics) or self.has_racks or before.has_racks:
            return changed_among({*topics, *before.names()}, before, after=self)
        # A topic that did not change is the same object in both images.
        others = before.image.topics
        replaced = [name for name, topic in topics.items() if others.get(name) is not topic]
        return changed_among({*replaced, *(others.keys() - topics.keys())}, before, after=self)

    def _facts(self, topic: TopicImage | None) -> TopicFacts | None:
        if topic is None:
            return None
        racks = self._racks(topic) if self.has_racks else ()
        return TopicFacts(topic.name, topic.topic_id, len(topic.partitions), racks)

    def _racks(self, topic: TopicImage) -> tuple[tuple[str, ...], ...]:
        """Return the racks of the replicas of each partition."""
        brokers = self.image.brokers
        return tuple(
            tuple(
                rack
                for node in partition.replicas
                if node in brokers and (rack := brokers[node].rack) is not None
            )
            for partition in topic.partitions
        )

"""Topics of a cluster image, as coordinators see them (Kafka: `KRaftCoordinatorMetadataImage`)."""

from collections.abc import Collection

from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage
from cordwood.coordination.topic_view import TopicFacts
from cordwood.core.uuids import Uuid


class ClusterTopics:
    """A view of the topics of one image; facts are made when they are looked up."""

    __slots__ = ("_has_racks", "_image")

    def __init__(self, image: ClusterImage) -> None:
        self._image = image
        self._has_racks = any(each.rack is not None for each in image.brokers.values())

    @property
    def version(self) -> int:
        return self._image.epoch

    def by_name(self, name: str) -> TopicFacts | None:
        return self._facts(self._image.topics.get(name))

    def by_id(self, topic_id: Uuid) -> TopicFacts | None:
        return self._facts(self._image.topics_by_id.get(topic_id))

    def names(self) -> Collection[str]:
        return self._image.topics

    def _facts(self, topic: TopicImage | None) -> TopicFacts | None:
        if topic is None:
            return None
        racks = self._racks(topic) if self._has_racks else ()
        return TopicFacts(topic.name, topic.topic_id, len(topic.partitions), racks)

    def _racks(self, topic: TopicImage) -> tuple[tuple[str, ...], ...]:
        """Return the racks of the replicas of each partition."""
        brokers = self._image.brokers
        return tuple(
            tuple(
                rack
                for node in partition.replicas
                if node in brokers and (rack := brokers[node].rack) is not None
            )
            for partition in topic.partitions
        )

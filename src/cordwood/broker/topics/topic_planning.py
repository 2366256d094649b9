"""Plans of topic requests: each topic is accepted with its replicas, or rejected with its error.

Kafka: `ReplicationControlManager.createTopics`, `createPartitions`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import topic_resource
from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage
from cordwood.broker.metadata.replica_placer import Replicas
from cordwood.broker.topics.topic_validation import (
    ExistingTopicNames,
    NewTopic,
    TopicDefaults,
    check_configs,
    check_partition_count,
    plan_more_partitions,
    plan_replicas,
)
from cordwood.core.errors import KafkaError, UnknownTopicOrPartitionError
from cordwood.core.ports import Random
from cordwood.core.uuids import make_uuid


class PlannedTopic(NamedTuple):
    """A valid new topic with its own configuration."""

    image: TopicImage
    texts: Mapping[str, str]


class NewPartitions(NamedTuple):
    """A new partition count, with brokers for the added partitions if the client assigns them."""

    name: str
    total: int
    assignments: Sequence[Replicas] | None = None


Planned: TypeAlias = PlannedTopic | KafkaError
Grown: TypeAlias = TopicImage | KafkaError


class TopicPlanner:
    """Plans the topics of one request; `taken` are names in creation, which no image has yet."""

    def __init__(
        self,
        image: ClusterImage,
        configs: BrokerConfigs,
        random: Random,
        *,
        taken: Iterable[str] = (),
    ) -> None:
        self._image = image
        self._configs = configs
        self._random = random
        self._existing = ExistingTopicNames([*image.topics, *taken])
        self._defaults = TopicDefaults(
            configs.integer("num.partitions"), configs.integer("default.replication.factor")
        )

    def check_count(self, new: Sequence[NewTopic]) -> None:
        """Raise PolicyViolationError if a request creates too many partitions."""
        check_partition_count(new, self._defaults)

    def plan(self, new: NewTopic) -> Planned:
        """Return the plan for a new topic."""
        try:
            self._existing.check(new.name)
            check_configs(new)
            texts = self._configs.plan_replacement(topic_resource(new.name), new.configs)
            replicas = plan_replicas(new, self._image, defaults=self._defaults, random=self._random)
        except KafkaError as error:
            return error.with_traceback(None)  # its frames refer to the list of the results
        topic = TopicImage.new(new.name, make_uuid(self._random), replicas=replicas)
        return PlannedTopic(topic, texts)

    def plan_growth(self, wanted: NewPartitions) -> Grown:
        """Return the topic with more partitions."""
        topic = self._image.topics.get(wanted.name)
        if topic is None:
            return UnknownTopicOrPartitionError()
        try:
            replicas = plan_more_partitions(
                topic,
                wanted.total,
                assignments=wanted.assignments,
                image=self._image,
                random=self._random,
            )
        except KafkaError as error:
            return error.with_traceback(None)  # its frames refer to the list of the results
        added = TopicImage.new(topic.name, topic.topic_id, replicas=replicas)
        return replace(topic, partitions=(*topic.partitions, *added.partitions))

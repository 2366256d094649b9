"""Creation, growth and deletion of topics (Kafka: `ReplicationControlManager`).

    create   validate, store in the metadata, create the logs, store their log directories,
             publish; a topic that a response reports survives a crash
    grow     the same for additional partitions
    delete   remove from the metadata first: the name is free at once, the files are deleted later

Changes run one at a time. A log that cannot be created does not undo its topic: the partition has
no leader, and `retry` creates the log when the disk allows it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import topic_resource
from cordwood.broker.config.stored_configs import delete_texts, put_texts
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.broker.metadata.metadata_writer import MetadataChange, MetadataWriter
from cordwood.broker.metadata.replica_placer import Replicas
from cordwood.broker.metadata.topic_znodes import StoredTopic, encode_topic
from cordwood.broker.topics import partition_states
from cordwood.broker.topics.internal_topic_settings import default_topic
from cordwood.broker.topics.topic_hosting import TopicHosting
from cordwood.broker.topics.topic_selection import TopicReference, TopicSelection, select
from cordwood.broker.topics.topic_validation import (
    ExistingTopicNames,
    NewTopic,
    TopicDefaults,
    check_configs,
    check_partition_count,
    plan_more_partitions,
    plan_replicas,
)
from cordwood.core.errors import KafkaError, KafkaStorageError, UnknownTopicOrPartitionError
from cordwood.core.metadata_paths import topic_path
from cordwood.core.ports import MetadataStore, Random
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid, make_uuid
from cordwood.core.znodes import CreateZNode, DeleteZNode, SetZNode, ZNodeChange
from cordwood.storage.log.log import Log
from cordwood.storage.manager import log_creation


class PlannedTopic(NamedTuple):
    """A valid new topic with its own configuration."""

    image: TopicImage
    texts: Mapping[str, str]


class NewPartitions(NamedTuple):
    """A new partition count, with brokers for the added partitions if the client assigns them."""

    name: str
    total: int
    assignments: Sequence[Replicas] | None = None


#: Partitions that are served or retried in one loop turn.
_PARTITIONS_PER_TURN: Final = 20

Planned: TypeAlias = PlannedTopic | KafkaError
Grown: TypeAlias = TopicImage | KafkaError


class TopicManager:
    """All changes of topics on this broker; called on the thread that owns the logs."""

    def __init__(
        self,
        writer: MetadataWriter,
        *,
        configs: BrokerConfigs,
        metadata: MetadataCache,
        hosting: TopicHosting,
        random: Random,
    ) -> None:
        self._writer = writer
        self._configs = configs
        self._metadata = metadata
        self._hosting = hosting
        self._random = random
        self._lost: set[TopicPartition] = set()
        hosting.manager.on_lost(self._remove_lost_leaders)

    # -- requests

    async def create(
        self, new: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[Planned]:
        """Create topics; return the created topic or the error for each."""
        async with self._writer.change() as change:
            outcomes = self._plan(new)
            planned = [each for each in outcomes if isinstance(each, PlannedTopic)]
            if planned and not validate_only:
                await change.store(partial(_creation, planned))
                for topic, texts in planned:
                    self._configs.apply(topic_resource(topic.name), texts)
                await self._serve([topic for topic, _ in planned], change)
            return outcomes

    async def create_missing(self, names: Iterable[str]) -> list[Planned]:
        """Create missing topics with the broker's settings (Kafka: `AutoTopicCreationManager`)."""
        brokers = len(self._metadata.image.brokers)
        return await self.create(
            [default_topic(name, self._configs, brokers=brokers) for name in names]
        )

    async def grow(
        self, wanted: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> list[Grown]:
        """Add partitions to topics; return the grown topic or the error for each."""
        async with self._writer.change() as change:
            outcomes = [self._plan_growth(each) for each in wanted]
            grown = [each for each in outcomes if isinstance(each, TopicImage)]
            if grown and not validate_only:
                former = [self._count_present(each.name) for each in grown]
                await change.store(partial(_growth, [*zip(grown, former, strict=True)]))
                await self._serve(grown, change)
            return outcomes

    async def delete(self, references: Sequence[TopicReference]) -> TopicSelection:
        """Delete topics; return the deleted topics and the rejected references."""
        metadata = self._metadata
        async with self._writer.change() as change:
            selection = select(references, metadata.image)
            doomed = [metadata.image.topics[name] for name in selection.topic_ids]
            if doomed:
                await change.store(partial(_deletion, doomed))
                metadata.publish(metadata.image.without_topic(*selection.topic_ids))
                for topic in doomed:
                    self._hosting.partitions.drop(topic.name)
                for topic in doomed:
                    await self._delete_logs(topic, change)
                    self._configs.apply(topic_resource(topic.name), {})
            return selection

    async def retry(self) -> None:
        """Create logs that could not be created earlier, a few at a time, until one fails."""
        manager, metadata = self._hosting.manager, self._metadata
        async with self._writer.change() as change:
            # A log that seems missing may be in a directory that is offline now.
            while manager.is_whole and (missing := self._find_missing()):
                failed = await self._create_logs(missing, change)
                created = [name for name, _ in missing if name not in failed]
                await self._store_directories(created, change)
                topics = [
                    metadata.image.topics[topic].with_leaders(names)
                    for topic, names in groupby(created, key=attrgetter("topic"))
                ]
                metadata.publish(metadata.image.with_topic(*topics))
                for name in created:
                    self._hosting.on_event(f"{name}: log created after a retry")
                if failed:
                    return

    # -- planning

    def _plan(self, new: Sequence[NewTopic]) -> list[Planned]:
        defaults = TopicDefaults(
            self._configs.integer("num.partitions"),
            self._configs.integer("default.replication.factor"),
        )
        check_partition_count(new, defaults)
        existing = ExistingTopicNames(self._metadata.image.topics)
        return [self._plan_topic(each, existing, defaults) for each in new]

    def _plan_topic(
        self, new: NewTopic, existing: ExistingTopicNames, defaults: TopicDefaults
    ) -> Planned:
        try:
            existing.check(new.name)
            check_configs(new)
            texts = self._configs.plan_replacement(topic_resource(new.name), new.configs)
            replicas = plan_replicas(
                new, self._metadata.image, defaults=defaults, random=self._random
            )
        except KafkaError as error:
            return error
        topic = TopicImage.new(new.name, make_uuid(self._random), replicas=replicas)
        return PlannedTopic(topic, texts)

    def _plan_growth(self, wanted: NewPartitions) -> Grown:
        image = self._metadata.image
        topic = image.topics.get(wanted.name)
        if topic is None:
            return UnknownTopicOrPartitionError()
        try:
            replicas = plan_more_partitions(
                topic,
                wanted.total,
                assignments=wanted.assignments,
                image=image,
                random=self._random,
            )
        except KafkaError as error:
            return error
        added = TopicImage.new(topic.name, topic.topic_id, replicas=replicas)
        return replace(topic, partitions=(*topic.partitions, *added.partitions))

    # -- logs and partitions

    async def _delete_logs(self, topic: TopicImage, change: MetadataChange) -> None:
        """Delete the logs of a topic that is not served any more, one a loop turn."""
        for partition in topic.names():
            self._hosting.delete_log(partition)
            await change.yield_turn()

    def _remove_lost_leaders(self, logs: Iterable[Log]) -> None:
        """Publish that the partitions of lost logs have no leader."""
        metadata = self._metadata
        lost = {log.partition for log in logs}
        self._lost |= lost
        topics = metadata.image.topics
        names = {partition.topic for partition in lost if partition.topic in topics}
        if names:
            fewer = [topics[name].without_leaders(lost) for name in names]
            metadata.publish(metadata.image.with_topic(*fewer))

    async def _serve(self, topics: Sequence[TopicImage], change: MetadataChange) -> None:
        """Create the missing logs of topics on the worker, serve the topics, and publish them."""
        self._lost.clear()
        try:
            failed = await self._create_logs(self._new_partitions(topics), change)
        except KafkaStorageError as error:
            failed = {name: error for name, _ in self._new_partitions(topics)}
        await self._store_directories([name for name, _ in self._new_partitions(topics)], change)
        served = []
        for topic in topics:
            await self._host(topic, change)
            served.append(self._hosting.serve(topic, failed=failed))
        lost = self._lost  # a directory may have failed since its logs were created
        served = [topic.without_leaders(lost) if lost else topic for topic in served]
        self._metadata.publish(self._metadata.image.with_topic(*served))

    async def _create_logs(
        self, missing: Iterable[tuple[TopicPartition, Uuid]], change: MetadataChange
    ) -> dict[TopicPartition, KafkaStorageError]:
        """Create logs without blocking the loop; return the errors of those that failed."""
        logs = log_creation.BulkLogCreation(self._hosting.manager)
        for _ in logs.place(missing):
            await change.yield_turn()
        await change.run_blocking(logs.create)
        failed: dict[TopicPartition, KafkaStorageError] = {}
        for some in logs.publish():
            failed |= some
            await change.yield_turn()
        return failed

    async def _store_directories(
        self, names: Sequence[TopicPartition], change: MetadataChange
    ) -> None:
        """Store the log directories of new logs, so that one that is missing later is noticed."""
        directories = partition_states.directory_ids(self._hosting.manager, names)
        await change.store(partial(partition_states.assignment, directories=directories))

    async def _host(self, topic: TopicImage, change: MetadataChange) -> None:
        """Serve the partitions of a topic, a few a loop turn; `TopicHosting.serve` has the rest."""
        epochs = [each.leader_epoch for each in topic.partitions]
        for end in range(_PARTITIONS_PER_TURN, len(epochs), _PARTITIONS_PER_TURN):
            self._hosting.partitions.host(
                topic.name, topic_id=topic.topic_id, leader_epochs=epochs[:end]
            )
            await change.yield_turn()

    def _find_missing(self) -> list[tuple[TopicPartition, Uuid]]:
        """Return a few partitions that have no log at all, with their topics' ids."""
        image, manager = self._metadata.image, self._hosting.manager
        missing = (
            (name, image.topics[topic].topic_id)
            for topic, names in image.leaderless.items()
            for name in names
            if not manager.has_partition(name)
        )
        return [*islice(missing, _PARTITIONS_PER_TURN)]

    def _new_partitions(
        self, topics: Iterable[TopicImage]
    ) -> Iterator[tuple[TopicPartition, Uuid]]:
        """Yield the partitions that have not been published yet, with their topics' ids."""
        for topic in topics:
            for name in islice(topic.names(), self._count_present(topic.name), None):
                yield name, topic.topic_id

    def _count_present(self, name: str) -> int:
        """Return the published number of a topic's partitions."""
        topic = self._metadata.image.topics.get(name)
        return 0 if topic is None else len(topic.partitions)


def _creation(planned: Sequence[PlannedTopic], store: MetadataStore) -> list[ZNodeChange]:
    changes: list[ZNodeChange] = []
    for topic, texts in planned:
        changes.append(CreateZNode(topic_path(topic.name), _data_of(topic)))
        changes += partition_states.creation(topic.name, topic.partitions, first=0)
        if texts:
            changes.append(put_texts(store, topic_resource(topic.name), texts=texts))
    return changes


def _deletion(doomed: Sequence[TopicImage], store: MetadataStore) -> list[ZNodeChange]:
    changes: list[ZNodeChange] = []
    for topic in doomed:
        changes += partition_states.deletion(store, topic.name)
        changes.append(DeleteZNode(topic_path(topic.name)))
        changes += delete_texts(store, topic_resource(topic.name))
    return changes


def _growth(grown: Sequence[tuple[TopicImage, int]], _store: MetadataStore) -> list[ZNodeChange]:
    """Return the changes for grown topics, each with its former number of partitions."""
    changes: list[ZNodeChange] = []
    for topic, first in grown:
        changes.append(SetZNode(topic_path(topic.name), _data_of(topic)))
        added = topic.partitions[first:]
        changes += partition_states.creation(topic.name, added, first=first)
    return changes


def _data_of(topic: TopicImage) -> bytes:
    replicas = [partition.replicas for partition in topic.partitions]
    return encode_topic(StoredTopic(topic.topic_id, replicas))

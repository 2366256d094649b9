"""Topics come, grow and go: checked, kept in the metadata, made on the disk, then published.

    create   in the metadata, then their logs; whoever is answered finds them after a crash too
    grow     likewise
    delete   out of the metadata first: the name is free at once, the files go a while later

One change of topics is made after the other. A log that cannot be made does not undo its topic: the
partition has no leader until the disk allows it, which is tried again and again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.config_resources import topic_resource
from cordwood.broker.configs import BrokerConfigs
from cordwood.broker.hosting import HostingTools, delete_log, serve_topic
from cordwood.broker.image import TopicImage
from cordwood.broker.internal_topic_settings import as_settings_say
from cordwood.broker.kept_configs import forget_texts, keep_texts
from cordwood.broker.metadata import Metadata
from cordwood.broker.metadata_writer import Change, MetadataWriter
from cordwood.broker.placement import Replicas
from cordwood.broker.topic_nodes import KeptTopic, encode_topic
from cordwood.broker.topic_rules import (
    NewTopic,
    TakenNames,
    TopicDefaults,
    check_configs,
    check_how_many,
    plan_more_partitions,
    plan_replicas,
)
from cordwood.broker.topic_selection import Said, Selection, select
from cordwood.core.errors import KafkaError, KafkaStorageError, UnknownTopicOrPartitionError
from cordwood.core.ids import Uuid, make_uuid
from cordwood.core.metadata_nodes import topic_path
from cordwood.core.nodes import CreateNode, DeleteNode, NodeChange, SetNode
from cordwood.core.ports import MetadataStore, Random
from cordwood.core.types import TopicPartition
from cordwood.storage.log import Log


class TopicTools(NamedTuple):
    """What topics are made with."""

    writer: MetadataWriter
    configs: BrokerConfigs
    metadata: Metadata
    hosting: HostingTools
    random: Random


class PlannedTopic(NamedTuple):
    """A topic that may be made, and what is configured of it."""

    image: TopicImage
    texts: Mapping[str, str]


class MorePartitions(NamedTuple):
    """A topic that is to have so many partitions; the new ones where it is said, if it is."""

    name: str
    total: int
    assignments: Sequence[Replicas] | None = None


_AT_ONCE: Final = 20

Planned: TypeAlias = PlannedTopic | KafkaError
Grown: TypeAlias = TopicImage | KafkaError


class Topics:
    """All changes of topics on this broker; called on the thread that owns the logs."""

    def __init__(self, tools: TopicTools) -> None:
        self._tools = tools
        self._lost: set[TopicPartition] = set()
        tools.hosting.manager.on_lost(self._lose)

    # -- what is asked

    async def create(
        self, new: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[Planned]:
        """Make topics; return of each what was made of it, or why it was not."""
        tools = self._tools
        async with tools.writer.change() as change:
            outcomes = self._planned(new)
            planned = [each for each in outcomes if isinstance(each, PlannedTopic)]
            if planned and not validate_only:
                await change.keep(partial(_creation, planned))
                for topic, texts in planned:
                    tools.configs.apply(topic_resource(topic.name), texts)
                await self._serve([topic for topic, _ in planned], change)
            return outcomes

    async def make_missing(self, names: Iterable[str]) -> list[Planned]:
        """Make topics that are not there, as the broker's settings have them."""
        configs, brokers = self._tools.configs, len(self._tools.metadata.image.brokers)
        return await self.create(
            [as_settings_say(name, configs, brokers=brokers) for name in names]
        )

    async def grow(
        self, wanted: Sequence[MorePartitions], *, validate_only: bool = False
    ) -> list[Grown]:
        """Give topics more partitions; return of each what it is now, or why it did not grow."""
        async with self._tools.writer.change() as change:
            outcomes = [self._grown(each) for each in wanted]
            grown = [each for each in outcomes if isinstance(each, TopicImage)]
            if grown and not validate_only:
                await change.keep(partial(_growth, grown))
                await self._serve(grown, change)
            return outcomes

    async def delete(self, said: Sequence[Said]) -> Selection:
        """Delete topics; return which, and what was said in vain."""
        metadata = self._tools.metadata
        async with self._tools.writer.change() as change:
            selection = select(said, metadata.image)
            doomed = [metadata.image.topics[name] for name in selection.meant]
            if doomed:
                await change.keep(partial(_deletion, doomed))
                metadata.publish(metadata.image.without_topic(*selection.meant))
                for topic in doomed:
                    self._tools.hosting.partitions.drop(topic.name)
                for topic in doomed:
                    await self._delete_logs(topic, change)
                    self._tools.configs.apply(topic_resource(topic.name), {})
            return selection

    async def retry(self) -> None:
        """Make the logs that the disk had no room for, as far as it has by now.

        A few at a time, until one of them cannot be made. Where a directory is missing, so may be
        a log that is in it.
        """
        manager, metadata = self._tools.hosting.manager, self._tools.metadata
        async with self._tools.writer.change() as change:
            while manager.is_whole and (missing := self._missing()):
                refused = await self._make(missing, change)
                made = [name for name, _ in missing if name not in refused]
                topics = [
                    metadata.image.topics[topic].with_leaders(names)
                    for topic, names in groupby(made, key=attrgetter("topic"))
                ]
                metadata.publish(metadata.image.with_topic(*topics))
                for name in made:
                    self._tools.hosting.on_event(f"{name} could be made by now")
                if refused:
                    return

    # -- what it comes to

    def _planned(self, new: Sequence[NewTopic]) -> list[Planned]:
        configs = self._tools.configs
        defaults = TopicDefaults(
            configs.integer("num.partitions"), configs.integer("default.replication.factor")
        )
        check_how_many(new, defaults)
        taken = TakenNames(self._tools.metadata.image.topics)
        return [self._planned_one(each, taken, defaults) for each in new]

    def _planned_one(self, new: NewTopic, taken: TakenNames, defaults: TopicDefaults) -> Planned:
        tools = self._tools
        try:
            taken.check(new.name)
            check_configs(new)
            texts = tools.configs.replaced(topic_resource(new.name), new.configs)
            replicas = plan_replicas(
                new, tools.metadata.image, defaults=defaults, random=tools.random
            )
        except KafkaError as error:
            return error
        topic = TopicImage.new(new.name, make_uuid(tools.random), replicas=replicas)
        return PlannedTopic(topic, texts)

    def _grown(self, wanted: MorePartitions) -> Grown:
        image = self._tools.metadata.image
        topic = image.topics.get(wanted.name)
        if topic is None:
            return UnknownTopicOrPartitionError()
        try:
            replicas = plan_more_partitions(
                topic,
                wanted.total,
                assignments=wanted.assignments,
                image=image,
                random=self._tools.random,
            )
        except KafkaError as error:
            return error
        added = TopicImage.new(topic.name, topic.topic_id, replicas=replicas)
        return replace(topic, partitions=(*topic.partitions, *added.partitions))

    # -- here

    async def _delete_logs(self, topic: TopicImage, change: Change) -> None:
        """Delete the logs of a topic that is served no more; others have their turn in between."""
        for partition in topic.names():
            delete_log(partition, self._tools.hosting)
            await change.breathe()

    def _lose(self, logs: Iterable[Log]) -> None:
        """Let nobody be taken for the leader of what can be served no more."""
        metadata = self._tools.metadata
        lost = {log.partition for log in logs}
        self._lost |= lost
        topics = metadata.image.topics
        names = {partition.topic for partition in lost if partition.topic in topics}
        if names:
            fewer = [topics[name].without_leaders(lost) for name in names]
            metadata.publish(metadata.image.with_topic(*fewer))

    async def _serve(self, topics: Sequence[TopicImage], change: Change) -> None:
        """Make the logs that are not there yet, on the worker, and let everybody know of them."""
        hosting, metadata = self._tools.hosting, self._tools.metadata
        self._lost.clear()
        try:
            refused = await self._make(self._new_partitions(topics), change)
        except KafkaStorageError as error:
            refused = {name: error for name, _ in self._new_partitions(topics)}
        served = []
        for topic in topics:
            await self._host(topic, change)
            served.append(serve_topic(topic, hosting, refused=refused))
        lost = self._lost  # a directory may have gone since its logs were made
        served = [topic.without_leaders(lost) if lost else topic for topic in served]
        metadata.publish(metadata.image.with_topic(*served))

    async def _make(
        self, missing: Iterable[tuple[TopicPartition, Uuid]], change: Change
    ) -> dict[TopicPartition, KafkaStorageError]:
        """Make logs, and let others have their turn meanwhile; return why some could not be."""
        logs = self._tools.hosting.manager.new_logs()
        for _ in logs.begin(missing):
            await change.breathe()
        await change.blocking(logs.make)
        refused: dict[TopicPartition, KafkaStorageError] = {}
        for of_some in logs.finish():
            refused |= of_some
            await change.breathe()
        return refused

    async def _host(self, topic: TopicImage, change: Change) -> None:
        """Serve the partitions of a topic, a few a turn."""
        epochs = [each.leader_epoch for each in topic.partitions]
        for end in range(_AT_ONCE, len(epochs), _AT_ONCE):
            self._tools.hosting.partitions.host(
                topic.name, topic_id=topic.topic_id, leader_epochs=epochs[:end]
            )
            await change.breathe()

    def _missing(self) -> list[tuple[TopicPartition, Uuid]]:
        """Return a few partitions that have no log at all, with their topics' ids."""
        image, manager = self._tools.metadata.image, self._tools.hosting.manager
        missing = (
            (name, image.topics[topic].topic_id)
            for topic, names in image.leaderless.items()
            for name in names
            if not manager.knows(name)
        )
        return [*islice(missing, _AT_ONCE)]

    def _new_partitions(
        self, topics: Iterable[TopicImage]
    ) -> Iterator[tuple[TopicPartition, Uuid]]:
        """Yield the partitions that are not known yet, with their topics' ids."""
        for topic in topics:
            for name in islice(topic.names(), self._present(topic.name), None):
                yield name, topic.topic_id

    def _present(self, name: str) -> int:
        """Return how many partitions a topic has by now."""
        topic = self._tools.metadata.image.topics.get(name)
        return 0 if topic is None else len(topic.partitions)


def _creation(planned: Sequence[PlannedTopic], store: MetadataStore) -> list[NodeChange]:
    changes: list[NodeChange] = []
    for topic, texts in planned:
        changes.append(CreateNode(topic_path(topic.name), _data_of(topic)))
        if texts:
            changes.append(keep_texts(store, topic_resource(topic.name), texts=texts))
    return changes


def _deletion(doomed: Sequence[TopicImage], store: MetadataStore) -> list[NodeChange]:
    changes: list[NodeChange] = []
    for topic in doomed:
        changes.append(DeleteNode(topic_path(topic.name)))
        changes += forget_texts(store, topic_resource(topic.name))
    return changes


def _growth(grown: Sequence[TopicImage], _store: MetadataStore) -> list[NodeChange]:
    return [SetNode(topic_path(topic.name), _data_of(topic)) for topic in grown]


def _data_of(topic: TopicImage) -> bytes:
    replicas = [partition.replicas for partition in topic.partitions]
    return encode_topic(KeptTopic(topic.topic_id, replicas))

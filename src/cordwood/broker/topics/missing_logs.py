"""Logs that could not be created with their topics, and are created when the disk allows it.

The partition begins its next leader epoch: a start may have found its earlier log missing, whose
records clients may have read.
"""

from collections.abc import Sequence
from functools import partial
from itertools import groupby, islice
from operator import attrgetter
from typing import Final

from cordwood.broker.hosting import partition_states
from cordwood.broker.hosting.metadata_publisher import MetadataPublisher
from cordwood.broker.hosting.partition_additions import create_logs
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import TopicImage
from cordwood.broker.metadata.metadata_writer import MetadataChange, MetadataWriter
from cordwood.broker.topics.busy_topics import BusyTopics, TopicWork
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.manager.bulk_log_creation import BulkLogCreation

#: Logs that are created at a time.
_PER_ROUND: Final = 20


class MissingLogs:
    """Creates the logs of partitions that have none; such a partition has no leader."""

    def __init__(
        self,
        writer: MetadataWriter,
        metadata: MetadataCache,
        hosting: TopicHosting,
        *,
        publisher: MetadataPublisher,
        busy: BusyTopics,
    ) -> None:
        self._writer = writer
        self._metadata = metadata
        self._publisher = publisher
        self._hosting = hosting
        self._busy = busy

    async def create(self) -> None:
        """Create missing logs, a few at a time, until one fails."""
        # A log that seems missing may be in a directory that is offline now.
        while self._hosting.manager.is_whole:
            async with self._writer.change() as change:
                missing = self._find()
                if not missing:
                    return
                creation = await self._place(missing, change)
                topics = {each.topic: self._metadata.image.topics[each.topic] for each in missing}
                work = self._busy.begin(topics.values(), TopicWork.GROWTH)
            with work:
                await create_logs(creation)
                await self._publish([*missing])
            if creation.errors:
                return

    def _find(self) -> dict[TopicPartition, Uuid]:
        """Return a few partitions that have no log at all, with their topics' ids."""
        image, manager = self._metadata.image, self._hosting.manager
        missing = (
            (name, image.topics[topic].topic_id)
            for topic, names in image.leaderless.items()
            for name in names
            if topic not in self._busy and not manager.has_partition(name)
        )
        return dict(islice(missing, _PER_ROUND))

    async def _place(
        self, missing: dict[TopicPartition, Uuid], change: MetadataChange
    ) -> BulkLogCreation:
        creation = BulkLogCreation(self._hosting.manager)
        for _ in creation.place(missing.items()):
            await change.yield_turn()
        return creation

    async def _publish(self, names: Sequence[TopicPartition]) -> None:
        """Store epochs and directories of the created logs, then publish that they have leaders."""
        async with self._writer.change() as change:
            led, created = self._led(names)
            store = partial(
                partition_states.leadership,
                epochs={
                    name: topic.partitions[name.partition].leader_epoch
                    for topic in led
                    for name in topic.names()
                    if name in created
                },
                directories=partition_states.directory_ids(self._hosting.manager, created),
            )
            if created:
                await change.store(store)
            # A directory may have failed since.
            led, created = self._led(created)
            self._publisher.publish(self._metadata.image.with_topic(*led))
        for name in created:
            self._hosting.on_event(f"{name}: log created after a retry")

    def _led(
        self, names: Sequence[TopicPartition]
    ) -> tuple[list[TopicImage], list[TopicPartition]]:
        """Return the topics with leaders for the partitions that have a log, and these."""
        topics, logs = self._metadata.image.topics, self._hosting.manager.logs
        found = [name for name in names if name in logs]
        led = [
            topics[topic].with_leaders(some)
            for topic, some in groupby(found, key=attrgetter("topic"))
        ]
        return led, found

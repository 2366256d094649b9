"""New partitions of topics: placed in log directories, created there, served and published.

    place      chooses the log directories; they are stored with the partitions, by one change
    complete   creates the logs, between two changes; then hosts the partitions and publishes them

A log that was created in another directory than the stored one is corrected by a second change,
before its partition is published.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from cordwood.broker.hosting.metadata_publisher import MetadataPublisher
from cordwood.broker.hosting.partition_states import assignment, corrections
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage, without_leaders
from cordwood.broker.metadata.metadata_writer import Changes, MetadataChange, MetadataWriter
from cordwood.broker.pending_results import next_turn, wait_until_done
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.manager.bulk_log_creation import BulkLogCreation

#: Partitions that are compared in one loop turn.
_PER_TURN: Final = 200


class TopicAddition(NamedTuple):
    """A topic with new partitions, those from `first` on; all of them if the topic is new."""

    topic: TopicImage
    first: int

    def names(self) -> Iterator[TopicPartition]:
        """Yield the names of the new partitions."""
        return islice(self.topic.names(), self.first, None)

    def added_to(self, image: ClusterImage) -> TopicImage:
        """Return the topic with its new partitions, and the others as they are in an image."""
        if not self.first:
            return self.topic
        published = image.topics[self.topic.name].partitions
        return replace(self.topic, partitions=(*published, *self.topic.partitions[self.first :]))


class PlacedPartitions(NamedTuple):
    """New partitions with the log directories that are stored for them."""

    additions: Sequence[TopicAddition]
    creation: BulkLogCreation
    directories: Mapping[TopicPartition, Uuid]


class PartitionAdditions:
    """Adds partitions to the topics of this broker."""

    def __init__(
        self, writer: MetadataWriter, publisher: MetadataPublisher, hosting: TopicHosting
    ) -> None:
        self._writer = writer
        self._publisher = publisher
        self._hosting = hosting

    async def place(
        self, additions: Sequence[TopicAddition], change: MetadataChange
    ) -> PlacedPartitions:
        """Choose the log directories of new partitions."""
        creation = BulkLogCreation(self._hosting.manager)
        wanted = ((name, each.topic.topic_id) for each in additions for name in each.names())
        for _ in creation.place(wanted):
            await change.yield_turn()
        return PlacedPartitions(additions, creation, creation.directory_ids())

    async def complete(self, placed: PlacedPartitions) -> None:
        """Create the logs of stored partitions, serve the partitions, and publish them."""
        additions, creation, directories = placed
        await create_logs(creation)
        async with self._writer.change() as change:
            names = [name for each in additions for name in each.names()]
            await self._correct_directories(names, change, stored=directories)
            for name, error in creation.errors.items():
                self._hosting.on_event(f"{name} cannot be served: {error}")

            def extended(image: ClusterImage) -> ClusterImage:
                # A directory may have failed since its logs were created.
                logs = self._hosting.manager.logs
                offline = {name for name in names if name not in logs} | {*creation.errors}
                topics = [each.added_to(image) for each in additions]
                return image.with_topic(*without_leaders(topics, offline))

            await self._publisher.publish_in_turns(extended, change)

    async def _correct_directories(
        self,
        names: Sequence[TopicPartition],
        change: MetadataChange,
        *,
        stored: Mapping[TopicPartition, Uuid],
    ) -> None:
        """Store the directories of the logs that are not where it is stored."""
        corrected: dict[TopicPartition, Uuid | None] = {}
        for start in range(0, len(names), _PER_TURN):
            some = names[start : start + _PER_TURN]
            corrected |= corrections(self._hosting.manager, some, stored=stored)
            await change.yield_turn()
        if corrected:
            await change.store(partial(assignment, directories=corrected))


async def store_placed(
    placed: PlacedPartitions, change: MetadataChange, *, changes: Changes
) -> None:
    """Store new partitions; if that fails, their logs are not created."""
    try:
        await change.store(changes)
    except BaseException:
        placed.creation.cancel()
        raise


async def create_logs(creation: BulkLogCreation) -> None:
    """Create logs without blocking the loop."""
    for jobs in creation.run():
        for job in jobs:
            await wait_until_done(job)
        await next_turn()

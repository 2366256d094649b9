"""Commands of the family `images`: what broker 1 does when the image of the cluster changes.

The outcome of a command is a line for each change of a replica on the broker, in the order in which
the changes are applied, with the role that the partition has then. Other brokers exist only in the
states of partitions.
"""

import asyncio
from dataclasses import dataclass, field, replace

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.hosting.log_reconciliation import reconcile
from cordwood.broker.hosting.metadata_publisher import MetadataPublisher
from cordwood.broker.hosting.topic_hosting import TopicHosting
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import NO_LEADER, PartitionImage
from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.broker.metadata.replica_changes import ReplicaChange, ReplicaChangeKind
from cordwood.broker.metadata.topic_znodes import folders
from cordwood.broker.partitions.hosted_partitions import HostedPartitions
from cordwood.broker.topics.topic_manager import TopicManager
from cordwood.broker.topics.topic_planning import NewPartitions
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.testing.memory_metadata import MemoryMetadata
from cordwood.testing.seeded_random import SeededRandom
from tests.scripts.partition_commands import role_text
from tests.unit.broker.broker_samples import resources
from tests.unit.broker.image_samples import cluster
from tests.unit.storage.manager_samples import LogManagerHarness


@dataclass(frozen=True, slots=True)
class _ReportedHosting(TopicHosting):
    """The hosting of topics, with a report of the changes."""

    lines: list[str] = field(default_factory=list)

    def apply(self, change: ReplicaChange) -> None:
        TopicHosting.apply(self, change)
        what = f"{change.topic}-{change.partition} {change.kind.value}"
        if change.kind is not ReplicaChangeKind.DROP:
            what += f": {role_text(self.partitions.get(change.topic_id, change.partition))}"
        self.lines.append(what)


class ImageCommands:
    """Broker 1 on the log directories /a and /b."""

    def __init__(self) -> None:
        self._storage = LogManagerHarness("/a", "/b")
        self._store = MemoryMetadata()
        self._store.multi(folders())
        self._random = SeededRandom(2)
        self._start()

    def create(self, topic: str, *, partitions: int = 1) -> str:
        """Create a topic."""
        asyncio.run(self._topics.create([NewTopic(name=topic, partitions=partitions)]))
        return self._outcome()

    def grow(self, topic: str, *, partitions: int) -> str:
        """Add partitions up to this number."""
        asyncio.run(self._topics.grow([NewPartitions(topic, partitions)]))
        return self._outcome()

    def delete(self, topic: str) -> str:
        """Delete a topic."""
        asyncio.run(self._topics.delete([TopicReference(topic)]))
        return self._outcome()

    def state(  # tidy: allow[parameters] a state has these fields
        self,
        topic: str,
        number: int,
        *,
        leader: int,
        epoch: int,
        isr: str = "1",
        replicas: str = "1",
    ) -> str:
        """Publish another state of a partition, as a controller would."""
        image = self._metadata.image
        states = [*image.topics[topic].partitions]
        in_sync, assigned = (tuple(map(int, each.split(","))) for each in (isr, replicas))
        states[number] = PartitionImage(assigned, in_sync, leader, epoch)
        changed = replace(image.topics[topic], partitions=tuple(states))
        self._publisher.publish(image.with_topic(changed))
        return self._outcome()

    def fail(self, path: str) -> str:
        """Fail a log directory."""
        (directory,) = (each for each in self._manager.directories if each.path == path)
        self._manager.fail(directory, OSError("input/output error"))
        return self._outcome()

    def restart(self, *, directories: str = "/a,/b", clean: bool = True) -> str:
        """Stop the broker, cleanly or by a crash, and start it on these log directories."""
        if clean:
            self._manager.close()
        self._storage.files.crash()
        self._storage.paths = tuple(directories.split(","))
        self._start()
        return self._outcome()

    def image(self) -> str:
        """Print the published image."""
        return "\n".join(
            f"{topic.name}-{number}: {_leader(state)}, epoch {state.leader_epoch}"
            for topic in self._metadata.image.topics.values()
            for number, state in enumerate(topic.partitions)
        )

    def _start(self) -> None:
        self._manager = self._storage.load()
        partitions = HostedPartitions(resources(self._manager))
        self._hosting = _ReportedHosting(self._manager, partitions, self._storage.events.append)
        self._metadata = MetadataCache(reconcile(self._store, self._hosting, image=cluster()))
        self._publisher = MetadataPublisher(self._metadata, self._hosting)
        self._topics = TopicManager(
            MetadataWriter(self._store, self._manager.ports.worker),
            configs=BrokerConfigs(1, []),
            metadata=self._metadata,
            hosting=self._hosting,
            random=self._random,
        )

    def _outcome(self) -> str:
        lines = [*self._hosting.lines]
        self._hosting.lines.clear()
        return "\n".join(lines) or "no change"


def _leader(state: PartitionImage) -> str:
    return "no leader" if state.leader == NO_LEADER else f"leader {state.leader}"

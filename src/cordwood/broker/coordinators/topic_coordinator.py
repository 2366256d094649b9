"""Coordinator of all keys of one internal topic: groups, or transactional ids.

Kafka: `GroupCoordinatorService`, `TransactionCoordinator`. A key belongs to a partition of the
topic, whose leader coordinates it. The topic's own number of partitions decides; the setting counts
only for its creation.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.coordination.key_partition import partition_for
from cordwood.coordination.outcome import Outcome, Ticket
from cordwood.coordination.runtime.coordinator_runtime import CoordinatorRuntime
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.runtime_ports import GoneSignal
from cordwood.protocol.schema import Response

S = TypeVar("S", bound=CoordinatorShard)
R = TypeVar("R", bound=Response)


class KeyPlacement(Protocol):
    """Where the keys of one internal topic are coordinated."""

    @property
    def topic(self) -> str:
        """The name of the internal topic."""

    def partition_of(self, key: str) -> int:
        """Return the partition of a key."""


class TopicCoordinator(Generic[S]):
    """The shards of one internal topic, by the keys that they coordinate."""

    def __init__(
        self,
        topic: str,
        count_setting: str,
        runtime: CoordinatorRuntime[S],
        *,
        metadata: MetadataCache,
        configs: BrokerConfigs,
    ) -> None:
        self.topic: Final = topic
        self.runtime: Final = runtime
        self._count_setting = count_setting
        self._metadata = metadata
        self._configs = configs

    @property
    def partition_count(self) -> int:
        """The number of partitions of the topic, or that with which it would be created."""
        topic = self._metadata.image.topics.get(self.topic)
        return (
            self._configs.integer(self._count_setting) if topic is None else len(topic.partitions)
        )

    def partition_of(self, key: str) -> int:
        """Return the partition of a group or of a transactional id."""
        return partition_for(key, self.partition_count)

    def begin(
        self, key: str, method: Callable[[S, Ticket, int], Outcome]
    ) -> asyncio.Future[Response]:
        """Run a method on the shard of a key; return the future of its answer."""
        return self.runtime.begin(self.partition_of(key), method)

    async def call(
        self,
        key: str,
        method: Callable[[S, Ticket, int], Outcome],
        *,
        answer: type[R],
        gone: GoneSignal | None = None,
    ) -> R:
        """Run a method on the shard of a key; see `CoordinatorRuntime.call`."""
        return await self.runtime.call(self.partition_of(key), method, answer=answer, gone=gone)

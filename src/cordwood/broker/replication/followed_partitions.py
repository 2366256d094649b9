"""Partitions that follow other brokers, whose addresses come from the image.

Kafka: `ReplicaManager.makeFollowers`. A partition whose leader is not in the image is followed as
soon as it is; a leader that moves is followed at its new address. Logs that are lost with their
disk are not copied any longer.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.cluster.fetchers.replica_fetcher_manager import LeaderEndpoint, ReplicaFetcherManager
from cordwood.core.address import Address
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.storage.log.log import Log
from cordwood.storage.manager.log_manager import LogManager


class _WaitingPartition(NamedTuple):
    """A partition whose leader has no address yet."""

    topic_id: Uuid
    leader: int
    leader_epoch: int


class FollowedPartitions:
    """The followed partitions of one broker; `listener` is the one between brokers."""

    def __init__(
        self,
        fetchers: ReplicaFetcherManager,
        manager: LogManager,
        metadata: MetadataCache,
        *,
        listener: str,
    ) -> None:
        self._fetchers = fetchers
        self._metadata = metadata
        self._listener = listener
        self._waiting = dict[TopicPartition, _WaitingPartition]()
        metadata.on_publish(self._use_addresses)
        manager.on_lost(self._stop_lost)

    def follow(
        self, partition: TopicPartition, topic_id: Uuid, *, leader: int, leader_epoch: int
    ) -> None:
        """Copy a partition from its leader, in this leader epoch."""
        self._waiting[partition] = _WaitingPartition(topic_id, leader, leader_epoch)
        self._begin(partition, self._metadata.image)

    def stop_following(self, partitions: Iterable[TopicPartition]) -> None:
        """Copy these partitions no longer."""
        names = [*partitions]
        for each in names:
            self._waiting.pop(each, None)
        self._fetchers.stop_following(names)

    def _begin(self, partition: TopicPartition, image: ClusterImage) -> None:
        topic_id, leader, leader_epoch = self._waiting[partition]
        address = self._address(image, leader)
        if address is not None:
            del self._waiting[partition]
            endpoint = LeaderEndpoint(leader, address)
            self._fetchers.follow(partition, topic_id, leader=endpoint, leader_epoch=leader_epoch)

    def _use_addresses(self, image: ClusterImage) -> None:
        for each in self._fetchers.leaders():
            address = self._address(image, each)
            if address is not None:
                self._fetchers.use_address(LeaderEndpoint(each, address))
        for partition in [*self._waiting]:
            self._begin(partition, image)

    def _stop_lost(self, lost: Sequence[Log]) -> None:
        self.stop_following(each.partition for each in lost)

    def _address(self, image: ClusterImage, node_id: int) -> Address | None:
        broker = image.brokers.get(node_id)
        endpoint = None if broker is None else broker.endpoints.get(self._listener)
        return None if endpoint is None else Address(endpoint.host, endpoint.port)

"""Replicas of this broker that follow, with the addresses of their leaders from the image.

Kafka: `ReplicaManager.makeFollowers`. A replica whose leader is not in the image waits until it is:
the controller sends roles and brokers in different requests.
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import ClusterImage
from cordwood.cluster.fetchers.replica_fetcher_manager import LeaderEndpoint
from cordwood.core.address import Address
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid


class Fetchers(Protocol):
    """The calls of `ReplicaFetcherManager` that are made here."""

    def follow(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        *,
        leader: LeaderEndpoint,
        leader_epoch: int,
        is_in_sync: bool = False,
    ) -> None:
        """Copy a partition from its leader."""

    def stop_following(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop copying."""

    def use_address(self, leader: LeaderEndpoint) -> None:
        """Send later requests for a leader to this address."""


class _WaitingReplica(NamedTuple):
    topic_id: Uuid
    leader: int
    leader_epoch: int
    is_in_sync: bool


class FollowedReplicas:
    """The replicas that follow; `listener` is the one between brokers."""

    def __init__(self, fetchers: Fetchers, metadata: MetadataCache, *, listener: str) -> None:
        self._fetchers = fetchers
        self._metadata = metadata
        self._listener = listener
        self._waiting = dict[TopicPartition, _WaitingReplica]()
        self._brokers = metadata.image.brokers
        metadata.on_publish(self._use)

    def follow(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        *,
        leader: int,
        leader_epoch: int,
        is_in_sync: bool = False,
    ) -> None:
        """Copy a partition from its leader, as soon as the image has that broker."""
        endpoint = self._endpoint(leader)
        if endpoint is None:
            self._waiting[partition] = _WaitingReplica(topic_id, leader, leader_epoch, is_in_sync)
        else:
            self._fetchers.follow(
                partition,
                topic_id,
                leader=endpoint,
                leader_epoch=leader_epoch,
                is_in_sync=is_in_sync,
            )

    def stop_following(self, partitions: Iterable[TopicPartition]) -> None:
        """Copy these partitions no longer."""
        stopped = [*partitions]
        for each in stopped:
            self._waiting.pop(each, None)
        self._fetchers.stop_following(stopped)

    def _use(self, image: ClusterImage) -> None:
        """Follow a leader to its new address, and begin with those that were not known."""
        if image.brokers is self._brokers:
            return
        self._brokers = image.brokers
        for broker_id in image.brokers:
            endpoint = self._endpoint(broker_id)
            if endpoint is not None:
                self._fetchers.use_address(endpoint)
        waiting, self._waiting = self._waiting, {}
        for partition, (topic_id, leader, leader_epoch, is_in_sync) in waiting.items():
            self.follow(
                partition,
                topic_id,
                leader=leader,
                leader_epoch=leader_epoch,
                is_in_sync=is_in_sync,
            )

    def _endpoint(self, broker_id: int) -> LeaderEndpoint | None:
        broker = self._metadata.image.brokers.get(broker_id)
        found = None if broker is None else broker.endpoints.get(self._listener)
        return None if found is None else LeaderEndpoint(broker_id, Address(found.host, found.port))

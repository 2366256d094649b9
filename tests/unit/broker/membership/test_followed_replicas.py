"""Tests of replicas that follow, and of the addresses of their leaders."""

from collections.abc import Iterable
from dataclasses import replace

from cordwood.broker.membership.followed_replicas import FollowedReplicas
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.cluster.fetchers.replica_fetcher_manager import LeaderEndpoint
from cordwood.core.address import Address
from cordwood.core.types import TopicPartition
from cordwood.core.uuids import Uuid
from tests.unit.broker.image_samples import broker, cluster
from tests.unit.storage.manager_samples import ORDERS_ID, partition

SECOND = LeaderEndpoint(2, Address("h", 9092))


class Fetchers:
    def __init__(self) -> None:
        self.calls = list[tuple[object, ...]]()
        self.in_sync = list[bool]()

    def follow(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        *,
        leader: LeaderEndpoint,
        leader_epoch: int,
        is_in_sync: bool = False,
    ) -> None:
        assert topic_id == ORDERS_ID
        self.in_sync.append(is_in_sync)
        self.calls.append(("follow", partition.partition, leader, leader_epoch))

    def stop_following(self, partitions: Iterable[TopicPartition]) -> None:
        self.calls.extend(("stop", each.partition) for each in partitions)

    def use_address(self, leader: LeaderEndpoint) -> None:
        self.calls.append(("address", leader))


def publish(metadata: MetadataCache, *brokers: int) -> None:
    image = metadata.image
    found = {each: broker(each) for each in brokers}
    metadata.publish(replace(image, brokers=found, epoch=image.epoch + 1))


def scene(*brokers: int) -> tuple[MetadataCache, Fetchers, FollowedReplicas]:
    metadata, fetchers = MetadataCache(cluster()), Fetchers()
    publish(metadata, *brokers)
    return metadata, fetchers, FollowedReplicas(fetchers, metadata, listener="PLAINTEXT")


def test_known_leader_is_followed_at_its_address() -> None:
    _, fetchers, followers = scene(1, 2)

    followers.follow(partition(0), ORDERS_ID, leader=2, leader_epoch=5)

    assert fetchers.calls == [("follow", 0, SECOND, 5)]


def test_unknown_leader_is_followed_as_soon_as_it_is_known() -> None:
    metadata, fetchers, followers = scene(1)
    followers.follow(partition(0), ORDERS_ID, leader=2, leader_epoch=5, is_in_sync=True)
    followers.follow(partition(1), ORDERS_ID, leader=2, leader_epoch=6)
    followers.stop_following([partition(1)])
    assert fetchers.calls == [("stop", 1)]

    publish(metadata, 1, 2)

    assert fetchers.calls[-1] == ("follow", 0, SECOND, 5)
    assert fetchers.in_sync == [True]
    assert len([each for each in fetchers.calls if each[0] == "follow"]) == 1


def test_brokers_of_a_later_image_have_their_new_addresses() -> None:
    metadata, fetchers, _ = scene(1)

    publish(metadata, 2)

    assert fetchers.calls == [("address", SECOND)]


def test_image_with_the_same_brokers_changes_nothing() -> None:
    metadata, fetchers, _ = scene(1, 2)

    metadata.publish(replace(metadata.image, epoch=metadata.image.epoch + 1))

    assert not fetchers.calls

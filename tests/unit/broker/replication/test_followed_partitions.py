"""Tests of followed partitions: addresses from the image, and lost logs."""

from collections.abc import Callable, Coroutine
from dataclasses import replace

from cordwood.broker.config.listeners import ListenerEndpoint
from cordwood.broker.metadata.metadata_cache import MetadataCache
from cordwood.broker.metadata.metadata_image import BrokerImage
from cordwood.broker.replication.followed_partitions import FollowedPartitions
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.broker.image_samples import cluster
from tests.unit.cluster.fetchers.fetcher_world import ORDERS_ID, A, B, FetcherWorld, run, turns

Scene = Callable[[FetcherWorld, BrokerHarness, FollowedPartitions], Coroutine[object, object, None]]


def play(scene: Scene) -> None:
    """Run a scene with the followed partitions of broker 1, which has one of orders.

    Brokers 1 and 2 are in the image.
    """
    harness = BrokerHarness()
    harness.host()

    async def whole(world: FetcherWorld) -> None:
        publish(harness.metadata, brokers=2)
        followed = FollowedPartitions(
            world.manager, harness.manager, harness.metadata, listener="PLAINTEXT"
        )
        await scene(world, harness, followed)

    run(whole)


def publish(metadata: MetadataCache, *, brokers: int, port: int | None = None) -> None:
    """Publish an image with these brokers, the last one perhaps at another port."""
    image = cluster(brokers=brokers)
    nodes = dict(image.brokers)
    if port is not None:
        endpoint = ListenerEndpoint("PLAINTEXT", "h", port)
        nodes[brokers] = BrokerImage(brokers, {"PLAINTEXT": endpoint})
    metadata.publish(replace(image, brokers=nodes, epoch=metadata.image.epoch + 1))


def addresses(world: FetcherWorld) -> list[str]:
    return [str(each.address) for each in world.channels.opened]


def test_leader_is_reached_at_the_address_of_the_image() -> None:
    async def scene(
        world: FetcherWorld, harness: BrokerHarness, followed: FollowedPartitions
    ) -> None:
        followed.follow(A, ORDERS_ID, leader=2, leader_epoch=4)
        await turns()
        publish(harness.metadata, brokers=2, port=9999)
        await turns()

        assert addresses(world) == ["h:9092", "h:9999"]

    play(scene)


def test_partition_is_followed_when_its_leader_is_in_the_image() -> None:
    async def scene(
        world: FetcherWorld, harness: BrokerHarness, followed: FollowedPartitions
    ) -> None:
        for each in (A, B):
            followed.follow(each, ORDERS_ID, leader=3, leader_epoch=4)
        followed.stop_following([B])
        await turns()
        assert addresses(world) == []

        publish(harness.metadata, brokers=3)
        await turns()

        assert addresses(world) == ["h:9093"]
        assert world.channel.fetched == [[(0, 0)]]

    play(scene)


def test_lost_log_is_not_copied_any_longer() -> None:
    async def scene(
        world: FetcherWorld, harness: BrokerHarness, followed: FollowedPartitions
    ) -> None:
        log = harness.broker.partitions.get("orders", 0).log
        followed.follow(log.partition, ORDERS_ID, leader=2, leader_epoch=4)
        await turns()
        assert world.manager.state_of(log.partition) is not None

        harness.manager.fail(harness.manager.directory_of(log), OSError(5, "gone"))

        assert world.manager.state_of(log.partition) is None

    play(scene)

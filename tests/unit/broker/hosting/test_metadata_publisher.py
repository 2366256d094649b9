"""Tests of the publication of images."""

import asyncio

import pytest

from cordwood.broker.hosting.metadata_publisher import MetadataPublisher
from cordwood.broker.metadata.metadata_image import NO_LEADER, ClusterImage
from cordwood.broker.partitions.partition_role import Offline
from cordwood.cluster.partition.leader import Leader
from cordwood.core.errors import UnknownTopicOrPartitionError
from cordwood.storage.manager import log_creation
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.image_samples import topic, topic_id
from tests.unit.storage.manager_samples import partition


def harness_with_logs(count: int) -> BrokerHarness:
    harness = BrokerHarness()
    for number in range(count):
        log_creation.create(harness.manager, partition(number), topic_id=topic_id("orders"))
    return harness


def publisher_of(harness: BrokerHarness) -> MetadataPublisher:
    return MetadataPublisher(harness.metadata, harness.hosting)


async def publish_in_turns(harness: BrokerHarness, count: int) -> None:
    def extended(image: ClusterImage) -> ClusterImage:
        offline = [
            each for each in map(partition, range(count)) if each not in harness.manager.logs
        ]
        return image.with_topic(topic("orders", count).without_leaders(offline))

    async with harness.writer.change() as change:
        await publisher_of(harness).publish_in_turns(extended, change)


def test_published_partitions_have_their_roles() -> None:
    harness = harness_with_logs(1)
    image = harness.metadata.image.with_topic(topic("orders"))

    publisher_of(harness).publish(image)
    led = isinstance(harness.broker.partitions.get("orders", 0).role, Leader)
    publisher_of(harness).publish(image.without_topic("orders"))

    assert led
    assert not harness.metadata.image.topics
    with pytest.raises(UnknownTopicOrPartitionError):
        harness.broker.partitions.get("orders", 0)


def test_image_is_published_after_all_its_partitions_are_served() -> None:
    harness, seen = harness_with_logs(100), list[bool]()

    async def scene() -> None:
        publishing = asyncio.get_running_loop().create_task(publish_in_turns(harness, 100))
        while not publishing.done():
            await turns(1)
            seen.append("orders" in harness.metadata.image.topics)

    run(scene())

    assert seen.count(False) >= 2
    assert isinstance(harness.broker.partitions.get("orders", 99).role, Leader)


def test_partition_that_fails_before_the_publication_has_no_leader() -> None:
    harness = harness_with_logs(50)

    async def scene() -> None:
        publishing = asyncio.get_running_loop().create_task(publish_in_turns(harness, 50))
        await turns(2)
        harness.manager.fail(harness.manager.directories[0], OSError("gone"))
        await publishing

    run(scene())

    states = harness.metadata.image.topics["orders"].partitions
    assert [each.leader for each in states[:2]] == [NO_LEADER, 1]
    assert isinstance(harness.broker.partitions.get("orders", 0).role, Offline)

"""Tests of the elections of coordinators."""

from dataclasses import replace

from cordwood.broker.metadata.metadata_image import TopicImage
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.coordinators.coordinator_samples import coordinating, locate

TOPIC = "__consumer_offsets"


def epochs(harness: BrokerHarness) -> dict[int, int]:
    """Return the leader epochs of the coordinated partitions."""
    runtime = harness.broker.coordinators.groups.runtime
    logs = [runtime.log(each) for each in runtime.partitions()]
    return {each.partition: each.leader_epoch for each in logs if each is not None}


def publish(harness: BrokerHarness, topic: TopicImage) -> None:
    """Apply a state of the topic to the partitions, and publish it."""
    before = harness.metadata.image
    after = before.with_topic(topic)
    for number, state in enumerate(topic.partitions):
        harness.broker.partitions.get(TOPIC, number).apply(state)
    harness.metadata.publish(after)


def test_every_led_partition_is_coordinated_in_its_leader_epoch() -> None:
    async def scene() -> tuple[dict[int, int], ...]:
        async with coordinating() as harness:
            await locate(harness)
            first = epochs(harness)
            topic = harness.metadata.image.topics[TOPIC]
            states = [each._replace(leader_epoch=4) for each in topic.partitions[:2]]
            publish(harness, replace(topic, partitions=(*states, topic.partitions[2])))
            await turns(20)
            return first, epochs(harness)

    assert run(scene()) == ({0: 0, 1: 0, 2: 0}, {0: 4, 1: 4, 2: 0})


def test_partition_that_another_broker_leads_is_resigned() -> None:
    async def scene() -> dict[int, int]:
        async with coordinating() as harness:
            await locate(harness)
            topic = harness.metadata.image.topics[TOPIC]
            moved = topic.partitions[0]._replace(leader=2, leader_epoch=1)
            publish(harness, replace(topic, partitions=(moved, *topic.partitions[1:])))
            return epochs(harness)

    assert run(scene()) == {1: 0, 2: 0}


def test_deleted_topic_has_no_coordinators() -> None:
    async def scene() -> dict[int, int]:
        async with coordinating() as harness:
            await locate(harness)
            harness.metadata.publish(harness.metadata.image.without_topic(TOPIC))
            return epochs(harness)

    assert run(scene()) == {}


def test_image_with_another_topic_changes_nothing() -> None:
    async def scene() -> bool:
        async with coordinating() as harness:
            await locate(harness)
            before = harness.broker.coordinators.group_log(0)
            harness.metadata.publish(harness.metadata.image.without_topic("orders"))
            await turns(20)
            return harness.broker.coordinators.group_log(0) is before

    assert run(scene())

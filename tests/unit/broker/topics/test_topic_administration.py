"""Tests of the port to the changes of topics, for both brokers that have it."""

from collections.abc import Awaitable, Callable

import pytest

from cordwood.broker.topics.topic_administration import TopicAdministration
from cordwood.broker.topics.topic_planning import NewPartitions
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.cluster_admin.admin_world import AdminWorld, kinds, play

Scene = Callable[[TopicAdministration], Awaitable[list[str]]]


def embedded(scene: Scene) -> list[str]:
    async def played() -> list[str]:
        return await scene(BrokerHarness().broker.topics)

    return run(played())


def clustered(scene: Scene) -> list[str]:
    async def played(world: AdminWorld) -> list[str]:
        return await scene((await world.broker(brokers=1)).topics)

    return play(played)


@pytest.mark.parametrize("broker", (embedded, clustered))
def test_results_have_the_order_of_the_request(broker: Callable[[Scene], list[str]]) -> None:
    async def scene(topics: TopicAdministration) -> list[str]:
        new = [NewTopic(name="a/b"), NewTopic(name="orders"), NewTopic(name="f", partitions=0)]
        created = await topics.create(new)
        grown = await topics.grow([NewPartitions("no", 2), NewPartitions("orders", 2)])
        missing = await topics.create_missing(["a/b"])
        selection = await topics.delete([TopicReference("no")])
        await topics.stop()
        errors = [error for _, error in selection.rejected]
        return [*kinds(created), *kinds(grown), *kinds(missing), *kinds(errors)]

    assert broker(scene) == [
        "InvalidTopicError",
        "PlannedTopic",
        "InvalidPartitionsError",
        "UnknownTopicOrPartitionError",
        "TopicImage",
        "InvalidTopicError",
        "UnknownTopicOrPartitionError",
    ]

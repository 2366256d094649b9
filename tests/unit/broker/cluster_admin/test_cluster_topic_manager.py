"""Tests of the topics of a cluster: stored in ZooKeeper, and complete with the image."""

import json
from collections.abc import Sequence

import pytest

from cordwood.broker.metadata.metadata_image import BrokerImage, TopicImage
from cordwood.broker.topics.topic_planning import NewPartitions, Planned, PlannedTopic
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.client.zookeeper_client import SessionState
from cordwood.core.errors import (
    InvalidPartitionsError,
    KafkaError,
    LeaderNotAvailableError,
    NotControllerError,
    PolicyViolationError,
    RequestTimedOutError,
    TopicAlreadyExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from tests.unit.broker.cluster_admin.admin_world import (
    TIMEOUT_MS,
    AdminBroker,
    AdminWorld,
    kinds,
    play,
)
from tests.unit.broker.image_samples import topic_id

Rejected = Sequence[tuple[TopicReference, KafkaError]]

ORDERS = NewTopic(name="orders", partitions=2, replication_factor=2)


def stored(world: AdminWorld, topic: str = "orders") -> dict[str, list[int]]:
    """Return the stored replicas of a topic."""
    return dict(json.loads(world.nodes()[f"/brokers/topics/{topic}"])["partitions"])


def test_created_topic_is_stored_and_complete_with_the_image() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        controller = await world.controller(broker)
        new = NewTopic(name="orders", partitions=2, configs=[("retention.ms", "5")])
        request = world.begin(broker.topics.create([new], deadline=broker.deadline()))
        await world.keeper.settle()
        is_early = request.done()
        await controller.work()
        (created,) = await request
        assert isinstance(created, PlannedTopic)
        topic = broker.metadata.image.topics["orders"]
        return (
            is_early,
            created.image == topic,
            topic.replication_factor,
            world.nodes()["/config/topics/orders"],
            broker.configs.config_for("orders").retention_ms,
        )

    assert play(scene) == (
        False,
        True,
        1,
        b'{"version":1,"config":{"retention.ms":"5"}}',
        5,
    )


def test_replicas_are_spread_over_the_live_brokers() -> None:
    async def scene(world: AdminWorld) -> dict[str, list[int]]:
        broker = await world.broker(brokers=3)
        await broker.topics.create([NewTopic(name="orders", partitions=3, replication_factor=2)])
        return stored(world)

    replicas = play(scene)

    assert sorted(each[0] for each in replicas.values()) == [1, 2, 3]
    assert all(len({*each}) == 2 for each in replicas.values())


def test_racks_get_one_replica_each() -> None:
    async def scene(world: AdminWorld) -> dict[str, list[int]]:
        broker = await world.broker(brokers=4)
        racks = {each: BrokerImage(each, {}, f"r{each % 2}") for each in range(1, 5)}
        object.__setattr__(broker.metadata.image, "brokers", racks)
        await broker.topics.create([NewTopic(name="orders", partitions=8, replication_factor=2)])
        return stored(world)

    assert {frozenset(each % 2 for each in replicas) for replicas in play(scene).values()} == {
        frozenset({0, 1})
    }


def test_default_counts_are_the_settings() -> None:
    async def scene(world: AdminWorld) -> dict[str, list[int]]:
        broker = await world.broker(num_partitions="2", default_replication_factor="3")
        await broker.topics.create([NewTopic(name="orders")])
        return stored(world)

    assert {at: sorted(each) for at, each in play(scene).items()} == {
        "0": [1, 2, 3],
        "1": [1, 2, 3],
    }


def test_requested_replicas_are_stored_as_requested() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        new = [
            NewTopic(name="orders", assignments=[(0, (3, 1)), (1, (2, 3))]),
            NewTopic(name="lost", assignments=[(0, (1, 9))]),
        ]
        outcomes = await broker.topics.create(new)
        return stored(world), kinds(outcomes)

    assert play(scene) == (
        {"0": [3, 1], "1": [2, 3]},
        ["PlannedTopic", "InvalidReplicaAssignmentError"],
    )


def test_topics_are_checked_each_for_itself() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker, other = await world.broker(), await world.broker(2)
        await other.topics.create([NewTopic(name="a.b")])  # which no image has yet
        new = [
            NewTopic(name="a.b"),
            NewTopic(name="a_b"),
            NewTopic(name="many", replication_factor=4),
            NewTopic(name="odd", configs=[("no.such", "1")]),
            NewTopic(name="good"),
        ]
        return kinds(await broker.topics.create(new)), await other.member.store.topics.names()

    assert play(scene) == (
        [
            "TopicAlreadyExistsError",
            "InvalidTopicError",
            "InvalidReplicationFactorError",
            "InvalidConfigError",
            "PlannedTopic",
        ],
        ["a.b", "good"],
    )


def test_topic_that_another_broker_has_created_meanwhile_exists() -> None:
    async def scene(world: AdminWorld) -> list[list[str]]:
        brokers = [await world.broker(each) for each in (1, 2)]
        tasks = [world.begin(each.topics.create([ORDERS])) for each in brokers]
        return sorted([kinds(await each) for each in tasks])

    assert play(scene) == [["PlannedTopic"], ["TopicAlreadyExistsError"]]


def test_validated_topic_is_not_stored() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        deadline = broker.deadline()
        outcomes = await broker.topics.create([ORDERS], validate_only=True, deadline=deadline)
        return kinds(outcomes), await broker.member.store.topics.names()

    assert play(scene) == (["PlannedTopic"], [])


@pytest.mark.parametrize("timeout_ms", (0, TIMEOUT_MS))
def test_topic_without_leaders_at_the_deadline_is_stored(timeout_ms: int) -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        new = [ORDERS, NewTopic(name="bad", partitions=0)]
        outcomes = await broker.topics.create(new, deadline=broker.deadline(timeout_ms))
        return kinds(outcomes), await broker.member.store.topics.names()

    assert play(scene) == (["RequestTimedOutError", "InvalidPartitionsError"], ["orders"])


def test_only_the_topics_without_leaders_time_out() -> None:
    async def scene(world: AdminWorld) -> list[str]:
        broker = await world.broker()
        new = [ORDERS, NewTopic(name="led")]
        request = world.begin(broker.topics.create(new, deadline=broker.deadline()))
        await world.keeper.settle()
        topics = broker.member.store.topics
        led, orders = [
            TopicImage.new(
                name, each.topic_id or topic_id(name), replicas=[(1,)] * len(each.partitions)
            )
            for name, each in (await topics.read(["led", "orders"])).items()
        ]
        broker.publish(led, orders.without_leaders([*orders.names()][:1]))
        return kinds(await request)

    assert play(scene) == ["RequestTimedOutError", "PlannedTopic"]


def test_requests_of_clients_are_for_the_controller() -> None:
    async def scene(world: AdminWorld) -> None:
        broker = await world.broker()
        broker.is_controller = False
        for request in (
            broker.topics.create([ORDERS]),
            broker.topics.grow([NewPartitions("orders", 3)]),
            broker.topics.delete([TopicReference("orders")]),
        ):
            with pytest.raises(NotControllerError):
                await request

    play(scene)


def test_any_broker_creates_missing_topics_and_does_not_wait() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker, other = await world.broker(), await world.broker(2)
        controller = await world.controller(broker, other)
        broker.is_controller = False
        first = await broker.topics.create_missing(["orders"])
        second = await other.topics.create_missing(["orders"])
        await controller.work()
        third = await broker.topics.create_missing(["orders"])
        return kinds(first), kinds(second), kinds(third)

    assert play(scene) == (
        [LeaderNotAvailableError.__name__],
        [LeaderNotAvailableError.__name__],
        [TopicAlreadyExistsError.__name__],
    )


def test_internal_topic_waits_for_its_number_of_brokers() -> None:
    async def scene(world: AdminWorld) -> list[list[str]]:
        few, enough = await world.broker(brokers=2), await world.broker(2, brokers=3)
        names = ["__consumer_offsets"]
        return [kinds(await each.topics.create_missing(names)) for each in (few, enough)]

    assert play(scene) == [["InvalidReplicationFactorError"], ["LeaderNotAvailableError"]]


def test_too_many_missing_topics_are_rejected() -> None:
    async def scene(world: AdminWorld) -> None:
        with pytest.raises(PolicyViolationError):
            await (await world.broker()).topics.create_missing([""] * 10_001)

    play(scene)


# -- growth


async def grown(broker: AdminBroker, *wanted: NewPartitions) -> list[str]:
    return kinds(await broker.topics.grow(wanted))


def test_added_partitions_follow_the_stored_ones() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        controller = await world.controller(broker)
        await broker.topics.create([ORDERS])
        before = stored(world)
        wanted = [NewPartitions("orders", 4)]
        request = world.begin(broker.topics.grow(wanted, deadline=broker.deadline()))
        await world.keeper.settle()
        is_early = request.done()
        await controller.work()
        outcomes = kinds(await request)
        after = stored(world)
        return is_early, outcomes, {at: after[at] for at in before} == before, sorted(after)

    assert play(scene) == (False, ["TopicImage"], True, ["0", "1", "2", "3"])


def test_growth_is_checked_against_the_stored_topic() -> None:
    async def scene(world: AdminWorld) -> list[str]:
        broker = await world.broker()
        await broker.topics.create([ORDERS, NewTopic(name="moved", assignments=[(0, (1,))])])
        moving = {0: ReplicaAssignment((2, 1), (2,), (1,))}
        await broker.member.store.topics.write_assignment("moved", moving)
        return await grown(
            broker,
            NewPartitions("orders", 2),
            NewPartitions("no", 2),
            NewPartitions("moved", 2),
            NewPartitions("orders", 3, [(1, 9)]),
        )

    assert play(scene) == [
        InvalidPartitionsError.__name__,
        UnknownTopicOrPartitionError.__name__,
        "ReassignmentInProgressError",
        "InvalidReplicaAssignmentError",
    ]


def test_growth_of_two_brokers_at_once_is_made_once() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        brokers = [await world.broker(each) for each in (1, 2)]
        await brokers[0].topics.create([ORDERS])
        tasks = [world.begin(grown(each, NewPartitions("orders", 4))) for each in brokers]
        return sorted([await each for each in tasks]), len(stored(world))

    assert play(scene) == ([["InvalidPartitionsError"], ["TopicImage"]], 4)


def test_growth_without_leaders_at_the_deadline_is_stored() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        controller = await world.controller(broker)
        await broker.topics.create([ORDERS])
        await controller.work()
        wanted = [NewPartitions("orders", 3)]
        outcomes = await broker.topics.grow(wanted, deadline=broker.deadline())
        return kinds(outcomes), len(stored(world))

    assert play(scene) == (["RequestTimedOutError"], 3)


def test_validated_growth_is_not_stored() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        await broker.topics.create([ORDERS])
        wanted = [NewPartitions("orders", 3)]
        return kinds(await broker.topics.grow(wanted, validate_only=True)), len(stored(world))

    assert play(scene) == (["TopicImage"], 2)


# -- deletion


def test_deletion_waits_until_the_image_has_the_topic_no_more() -> None:
    async def scene(world: AdminWorld) -> tuple[bool, bool, Rejected]:
        broker = await world.broker()
        controller = await world.controller(broker)
        await broker.topics.create([ORDERS])
        await controller.work()
        found = broker.metadata.image.topics["orders"].topic_id
        references = [TopicReference(None, found), TopicReference("no")]
        request = world.begin(broker.topics.delete(references, deadline=broker.deadline()))
        await world.keeper.settle()
        is_early = request.done()
        await controller.work()
        selection = await request
        return is_early, dict(selection.topic_ids) == {"orders": found}, selection.rejected

    is_early, is_deleted, rejected = play(scene)

    assert (is_early, is_deleted) == (False, True)
    ((reference, error),) = rejected
    assert (reference.name, type(error)) == ("no", UnknownTopicOrPartitionError)


def test_topic_that_remains_at_the_deadline_times_out() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        controller = await world.controller(broker)
        await broker.topics.create([ORDERS])
        await controller.work()
        selection = await broker.topics.delete(
            [TopicReference("orders")], deadline=broker.deadline()
        )
        ((_, error),) = selection.rejected
        requested = await broker.member.store.administration.deletions()
        return dict(selection.topic_ids), type(error), requested

    assert play(scene) == ({}, RequestTimedOutError, ["orders"])


def test_later_topic_of_the_name_is_not_the_deleted_one() -> None:
    async def scene(world: AdminWorld) -> tuple[bool, Rejected]:
        broker = await world.broker()
        controller = await world.controller(broker)
        await broker.topics.create([ORDERS])
        await controller.work()
        references = [TopicReference("orders")]
        request = world.begin(broker.topics.delete(references, deadline=broker.deadline()))
        await world.keeper.settle()
        broker.publish(TopicImage.new("orders", topic_id("another"), replicas=[(1,)]))
        selection = await request
        return "orders" in selection.topic_ids, selection.rejected

    assert play(scene) == (True, [])


def test_deleted_topic_that_the_image_still_has_is_unknown() -> None:
    async def scene(world: AdminWorld) -> list[type]:
        broker = await world.broker()
        (created,) = await broker.topics.create([ORDERS])
        assert isinstance(created, PlannedTopic)
        broker.publish(created.image)
        await broker.member.store.topics.request_deletion("orders")
        await (await world.controller()).work()
        selection = await broker.topics.delete([TopicReference("orders")])
        return [type(error) for _, error in selection.rejected]

    assert play(scene) == [UnknownTopicOrPartitionError]


def test_topic_that_only_the_image_has_is_created() -> None:
    """It was deleted while this broker was not registered."""

    async def scene(world: AdminWorld) -> list[Planned]:
        broker = await world.broker()
        broker.publish(TopicImage.new("orders", topic_id("gone"), replicas=[(1,), (1,)]))
        return await broker.topics.create([ORDERS], deadline=broker.deadline())

    assert kinds(play(scene)) == ["RequestTimedOutError"]


def test_topic_that_was_created_again_is_not_deleted_by_the_former_id() -> None:
    """The image has the former topic until the next request of the controller."""

    async def scene(world: AdminWorld) -> tuple[list[type], list[str]]:
        broker = await world.broker()
        (former,) = await broker.topics.create([ORDERS])
        assert isinstance(former, PlannedTopic)
        broker.publish(former.image)
        await broker.member.store.topics.request_deletion("orders")
        await (await world.controller()).work()
        again = StoredAssignment(topic_id("another"), {0: ReplicaAssignment((1,))})
        await broker.member.store.topics.create("orders", again, configs={})
        selection = await broker.topics.delete([TopicReference(None, former.image.topic_id)])
        requested = await broker.member.store.administration.deletions()
        return [type(error) for _, error in selection.rejected], requested

    assert play(scene) == ([UnknownTopicIdError], [])


# -- ZooKeeper


def test_request_without_zookeeper_times_out_and_is_completed_later() -> None:
    async def scene(world: AdminWorld) -> tuple[object, ...]:
        broker = await world.broker()
        broker.member.client.cut()
        with pytest.raises(RequestTimedOutError):
            await broker.topics.create([ORDERS], deadline=broker.deadline(1_000))
        broker.member.client.heal()
        await world.keeper.settle()
        return (await broker.member.store.topics.names(),)

    assert play(scene) == (["orders"],)


def test_request_whose_session_ends_times_out() -> None:
    async def scene(world: AdminWorld) -> None:
        broker = await world.broker()
        broker.member.client.cut()
        request = world.begin(broker.topics.create([ORDERS]))
        await world.keeper.settle(60_000)
        assert broker.member.client.state is not SessionState.CONNECTED
        broker.member.client.heal()
        with pytest.raises(RequestTimedOutError):
            await request

    play(scene)


def test_missing_topic_whose_session_ends_may_exist_later() -> None:
    async def scene(world: AdminWorld) -> list[str]:
        broker = await world.broker()
        broker.member.client.cut()
        request = world.begin(broker.topics.create_missing(["orders", "more"]))
        await world.keeper.settle(60_000)
        broker.member.client.heal()
        return kinds(await request)

    assert play(scene) == ["LeaderNotAvailableError"] * 2


def test_requests_that_wait_end_with_the_broker() -> None:
    async def scene(world: AdminWorld) -> list[str]:
        broker = await world.broker()
        request = world.begin(broker.topics.create([ORDERS], deadline=broker.deadline()))
        await world.keeper.settle()
        await broker.topics.stop()
        return kinds(await request)

    assert play(scene) == ["RequestTimedOutError"]

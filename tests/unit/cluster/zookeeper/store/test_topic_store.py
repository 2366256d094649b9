"""Tests of the topics in the store."""

import pytest

from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import StoredAssignment
from cordwood.cluster.zookeeper.client.zookeeper_client import SetDataOp
from cordwood.core.errors import (
    InvalidPartitionsError,
    ReassignmentInProgressError,
    StaleControllerEpochError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.uuids import NO_UUID
from tests.unit.cluster.zookeeper.store.store_values import FIRST, ID, TOPIC
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld, play


def test_created_topic_is_read_with_its_id_and_configuration() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        topics = (await world.member(1)).store.topics
        await topics.create("t", TOPIC, configs={"retention.ms": "1"})
        return await topics.names(), await topics.read(["t", "no"]), world.nodes("/config/topics")

    names, topics, configs = play(scene)

    assert (names, topics) == (["t"], {"t": TOPIC})
    assert configs == {"/config/topics/t": b'{"version":1,"config":{"retention.ms":"1"}}'}


def test_topic_that_exists_is_not_created_again() -> None:
    async def scene(world: StoreWorld) -> bytes:
        topics = (await world.member(1)).store.topics
        await topics.create("t", TOPIC, configs={"k": "1"})
        with pytest.raises(TopicAlreadyExistsError, match="topic t already exists"):
            await topics.create("t", TOPIC, configs={"k": "2"})
        return world.nodes()["/config/topics/t"]

    assert play(scene) == b'{"version":1,"config":{"k":"1"}}'


def test_configuration_of_a_former_topic_is_replaced() -> None:
    async def scene(world: StoreWorld) -> bytes:
        member = await world.member(1)
        await member.client.create("/config/topics/t", b"former")
        await member.store.topics.create("t", TOPIC, configs={})
        return world.nodes()["/config/topics/t"]

    assert play(scene) == b'{"version":1,"config":{}}'


def test_assignment_is_replaced_under_the_same_id() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member = await world.member(1)
        guard = await member.elected()
        await member.store.topics.create("t", TOPIC, configs={})
        moved = {0: ReplicaAssignment((3, 1), (3,), (1,))}
        results = [
            await member.store.topics.write_assignment(topic, moved, guard=guard)
            for topic in ("t", "no")
        ]
        return results, await member.store.topics.read(["t"])

    assert play(scene) == (
        [True, False],
        {"t": StoredAssignment(ID, {0: ReplicaAssignment((3, 1), (3,), (1,))})},
    )


def test_partitions_are_added_to_the_stored_ones() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        topics = (await world.member(1)).store.topics
        await topics.create("t", TOPIC, configs={})
        added = {3: ReplicaAssignment((2,))}
        await topics.add_partitions("t", added)
        with pytest.raises(InvalidPartitionsError, match="topic t has 4 partitions by now"):
            await topics.add_partitions("t", added)
        with pytest.raises(UnknownTopicOrPartitionError, match="topic no does not exist"):
            await topics.add_partitions("no", added)
        moving = {0: ReplicaAssignment((3, 1), (3,), (1,))}
        await topics.write_assignment("t", moving)
        with pytest.raises(ReassignmentInProgressError):
            await topics.add_partitions("t", {1: ReplicaAssignment((1,))})
        return len(moving), await topics.read(["t"])

    moving, stored = play(scene)

    assert moving == 1
    assert stored == {"t": StoredAssignment(ID, {0: ReplicaAssignment((3, 1), (3,), (1,))})}


def test_topics_without_an_id_get_one() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member = await world.member(1)
        guard = await member.elected()
        await member.store.topics.create("old", TOPIC._replace(topic_id=None), configs={})
        await member.store.topics.create("new", TOPIC, configs={})
        drawn = await member.store.topics.assign_ids(
            ["old", "new", "no"], draw=lambda: NO_UUID, guard=guard
        )
        return drawn, await member.store.topics.read(["old", "new"])

    assert play(scene) == (
        {"old": NO_UUID, "new": ID},
        {"old": TOPIC._replace(topic_id=NO_UUID), "new": TOPIC},
    )


def test_deleted_topic_leaves_nothing() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member = await world.member(1)
        guard, store = await member.elected(), member.store
        before = world.nodes()
        await store.topics.create("t", TOPIC, configs={"k": "v"})
        await store.leaderships.create(FIRST, guard)
        await store.topics.request_deletion("t")
        assert await store.administration.deletions() == ["t"]
        await store.topics.delete("t", guard)
        return before, world.nodes()

    before, after = play(scene)

    assert before == after


def test_deletion_of_an_unknown_topic_is_refused() -> None:
    async def scene(world: StoreWorld) -> None:
        topics = (await world.member(1)).store.topics
        with pytest.raises(UnknownTopicOrPartitionError, match="topic t does not exist"):
            await topics.request_deletion("t")

    play(scene)


def test_deposed_controller_changes_no_topic() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        old, new = await world.member(1), await world.member(2)
        guard = await old.elected()
        await old.store.topics.create("t", TOPIC._replace(topic_id=None), configs={})
        await old.store.election.resign(guard)
        await new.elected()
        before, topics = world.nodes(), old.store.topics
        for write in (
            topics.write_assignment("t", {}, guard=guard),
            topics.assign_ids(["t"], draw=lambda: ID, guard=guard),
            topics.delete("t", guard),
        ):
            with pytest.raises(StaleControllerEpochError):
                await write
        return before, world.nodes()

    before, after = play(scene)

    assert before == after


def test_assignment_that_changes_meanwhile_is_read_again() -> None:
    async def scene(world: StoreWorld) -> object:
        member = await world.member(1)
        await member.store.topics.create("t", TOPIC._replace(topic_id=None), configs={})

        def other_writer() -> None:
            path = "/brokers/topics/t"
            data = world.nodes()[path].replace(
                b'{"version":3', b'{"topic_id":"%s","version":3' % ID_TEXT
            )
            world.server.tree.apply([SetDataOp(path, data)], session_id=0, now_ms=0)
            member.client.on_send = lambda: None

        # The read is on its way at the second request, which is the write.
        sent = [0]

        def on_send() -> None:
            sent[0] += 1
            if sent[0] == 2:
                other_writer()

        member.client.on_send = on_send
        await member.store.topics.write_assignment("t", {0: ReplicaAssignment((9,))})
        return (await member.store.topics.read(["t"]))["t"]

    assert play(scene) == StoredAssignment(ID, {0: ReplicaAssignment((9,))})


ID_TEXT = b"AAAAAAAAAAAAAAAAAAAABw"

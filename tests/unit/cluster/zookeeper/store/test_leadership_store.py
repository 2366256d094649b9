"""Tests of the leaderships of partitions."""

import pytest

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.effects import LeadershipWrites
from cordwood.cluster.zookeeper.client.zookeeper_client import SetDataOp
from cordwood.core.errors import StaleControllerEpochError, UnknownTopicOrPartitionError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from tests.unit.cluster.zookeeper.store.store_values import FIRST, PARTITIONS, SECOND, TOPIC
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld, play


def test_created_leaderships_are_read_in_bulk() -> None:
    async def scene(world: StoreWorld) -> tuple[LeadershipWrites, dict[TopicPartition, Leadership]]:
        member = await world.member(1)
        guard = await member.elected()
        await member.store.topics.create("t", TOPIC, configs={})
        written = await member.store.leaderships.create(FIRST, guard)
        other = TopicPartition(TopicName("t"), PartitionId(9))
        return written, await member.store.leaderships.read([*PARTITIONS, other])

    writes, read = play(scene)

    assert writes == LeadershipWrites(FIRST, [], {})
    assert read == FIRST


def test_write_returns_the_next_partition_epoch_and_conflicts() -> None:
    async def scene(world: StoreWorld) -> tuple[LeadershipWrites, LeadershipWrites]:
        member = await world.member(1)
        guard = await member.elected()
        await member.store.topics.create("t", TOPIC, configs={})
        await member.store.leaderships.create(FIRST, guard)
        # The leader of the first partition changes its in-sync set at the same time.
        path = "/brokers/topics/t/partitions/0/state"
        world.server.tree.apply([SetDataOp(path, b"{}")], session_id=0, now_ms=0)
        first = await member.store.leaderships.write(SECOND, guard)
        again = await member.store.leaderships.write(SECOND, guard)
        return first, again

    first, again = play(scene)

    written = {each: SECOND[each]._replace(partition_epoch=1) for each in PARTITIONS[1:]}
    assert first == LeadershipWrites(written, [PARTITIONS[0]], {})
    assert again == LeadershipWrites({}, [*PARTITIONS], {})


def test_leadership_that_exists_is_a_conflict() -> None:
    async def scene(world: StoreWorld) -> LeadershipWrites:
        member = await world.member(1)
        guard = await member.elected()
        await member.store.topics.create("t", TOPIC, configs={})
        await member.store.leaderships.create({PARTITIONS[1]: FIRST[PARTITIONS[1]]}, guard)
        return await member.store.leaderships.create(SECOND, guard)

    writes = play(scene)

    assert [*writes.written] == [PARTITIONS[0], PARTITIONS[2]]
    assert writes.conflicts == [PARTITIONS[1]]


def test_leadership_of_a_removed_topic_fails_by_itself() -> None:
    async def scene(world: StoreWorld) -> LeadershipWrites:
        member = await world.member(1)
        return await member.store.leaderships.create(FIRST, await member.elected())

    writes = play(scene)

    assert [*writes.failed] == [*PARTITIONS]
    assert isinstance(writes.failed[PARTITIONS[0]], UnknownTopicOrPartitionError)


def test_deposed_controller_writes_no_leadership() -> None:
    async def scene(world: StoreWorld) -> dict[TopicPartition, Leadership]:
        old, new = await world.member(1), await world.member(2)
        guard = await old.elected()
        await old.store.topics.create("t", TOPIC, configs={})
        await old.store.leaderships.create(FIRST, guard)
        world.server.expire(old.client.session_id)
        await new.elected()
        # The writes of the old controller, which are still on their way.
        with pytest.raises(StaleControllerEpochError):
            await new.store.leaderships.write(SECOND, guard)
        with pytest.raises(StaleControllerEpochError):
            await new.store.leaderships.create(SECOND, guard)
        return await new.store.leaderships.read(PARTITIONS)

    assert play(scene) == FIRST

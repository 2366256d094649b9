"""Tests of the requests that administrators leave."""

from cordwood.core.types import TopicPartition
from tests.unit.cluster.zookeeper.store.store_values import PARTITIONS, TOPIC
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld, play


def test_deletions_are_read_and_dropped() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member = await world.member(1)
        guard, administration = await member.elected(), member.store.administration
        for topic in ("b", "a"):
            await member.store.topics.create(topic, TOPIC, configs={})
            await member.store.topics.request_deletion(topic)
        requested = await administration.deletions()
        await administration.drop_deletions(["a", "gone"], guard)
        return requested, await administration.deletions()

    assert play(scene) == (["a", "b"], ["b"])


def test_reassignments_are_created_replaced_and_removed() -> None:
    async def scene(world: StoreWorld) -> list[dict[TopicPartition, tuple[int, ...]]]:
        member = await world.member(1)
        guard, administration = await member.elected(), member.store.administration
        read = [await administration.reassignments()]
        for wanted in ({PARTITIONS[0]: (2, 3)}, {PARTITIONS[1]: (1,)}, {}):
            await administration.write_reassignments(wanted, guard)
            read.append(await administration.reassignments())
        assert "/admin/reassign_partitions" not in world.nodes()
        return read

    assert play(scene) == [{}, {PARTITIONS[0]: (2, 3)}, {PARTITIONS[1]: (1,)}, {}]


def test_elections_are_read_and_dropped() -> None:
    async def scene(world: StoreWorld) -> tuple[object, ...]:
        member = await world.member(1)
        guard, administration = await member.elected(), member.store.administration
        data = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
        await member.client.create("/admin/preferred_replica_election", data)
        requested = await administration.elections()
        await administration.drop_elections(guard)
        return requested, await administration.elections()

    assert play(scene) == ((PARTITIONS[0],), ())

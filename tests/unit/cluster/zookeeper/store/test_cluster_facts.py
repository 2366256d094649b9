"""Tests of the cluster id, the producer ids and the persistent nodes."""

import asyncio
from functools import partial

import pytest

from cordwood.cluster.zookeeper.client.zookeeper_client import SetDataOp
from cordwood.cluster.zookeeper.znodes.cluster_paths import PERSISTENT
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import UnknownServerError
from cordwood.core.producer_id_block import BLOCK_PATH, format_block
from tests.unit.cluster.zookeeper.store.store_world import StoreWorld, play


def test_started_store_has_the_nodes_of_kafka() -> None:
    async def scene(world: StoreWorld) -> set[str]:
        await world.member(1)
        await world.member(2)
        return {*world.nodes()}

    assert play(scene) == {*PERSISTENT}


@pytest.mark.parametrize("seed", range(10))
def test_brokers_agree_on_one_cluster_id(seed: int) -> None:
    async def scene(world: StoreWorld) -> list[str]:
        identities = [(await world.member(each)).store.facts for each in range(3)]
        drawn = iter("abcdef")
        return await asyncio.gather(*(each.cluster_id(partial(next, drawn)) for each in identities))

    first, *others = play(scene, seed=seed)

    assert others == [first, first]


@pytest.mark.parametrize("seed", range(10))
def test_blocks_of_producer_ids_never_overlap(seed: int) -> None:
    async def scene(world: StoreWorld) -> list[range]:
        identities = [(await world.member(each)).store.facts for each in range(3)]
        return await asyncio.gather(*(each.claim_producer_ids(1) for each in identities * 2))

    blocks = sorted(play(scene, seed=seed), key=lambda block: block.start)

    assert blocks == [range(start, start + 1000) for start in range(0, 6000, 1000)]


def test_producer_ids_end() -> None:
    async def scene(world: StoreWorld) -> None:
        identity = (await world.member(1)).store.facts
        last = format_block(range(INT64_MAX - 1000, INT64_MAX), 1)
        world.server.tree.apply([SetDataOp(BLOCK_PATH, last)], session_id=0, now_ms=0)
        with pytest.raises(UnknownServerError, match="all producer ids"):
            await identity.claim_producer_ids(1)

    play(scene)

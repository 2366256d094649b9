"""Conformance tests of the ZooKeeperClient port, for the client and the server in memory."""

import pytest

from cordwood.cluster.zookeeper.client.zookeeper_client import ZooKeeperClient
from cordwood.testing.zookeeper.memory_zookeeper import MemoryZooKeeper
from cordwood.testing.zookeeper.memory_zookeeper_client import MemoryZooKeeperClient
from tests.conformance.zookeeper_scenes import SCENES, Scene
from tests.simulation.world import World

END_MS = 60_000


class MemoryKeeper:
    """The server in memory; the delays of its messages are drawn from a seed."""

    def __init__(self, world: World) -> None:
        self._server = MemoryZooKeeper(
            world.clock, world.clock, delay_ms=lambda: world.random.uniform(0.1, 30)
        )

    async def client(self) -> ZooKeeperClient:
        return MemoryZooKeeperClient(self._server)

    def break_connection(self, client: ZooKeeperClient) -> None:
        _memory(client).break_connection()

    async def lose_responses(self, client: ZooKeeperClient) -> None:
        memory = _memory(client)
        memory.break_connection(arriving=memory.requests_on_the_way)

    def cut(self, client: ZooKeeperClient) -> None:
        _memory(client).cut()

    def heal(self, client: ZooKeeperClient) -> None:
        _memory(client).heal()

    async def expire(self, client: ZooKeeperClient) -> None:
        self._server.expire(client.session_id)


def _memory(client: ZooKeeperClient) -> MemoryZooKeeperClient:
    assert isinstance(client, MemoryZooKeeperClient)
    return client


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_client_in_memory(scene: Scene, seed: int) -> None:
    world, ended = World(seed), list[bool]()

    async def play() -> None:
        await scene(MemoryKeeper(world))
        ended.append(True)

    with world.loop.running():
        world.begin(play())
        world.run_until(END_MS)

    assert ended, "the scene waits for ever"

"""Tests of the faults of the client in memory; its scenes are in `tests/conformance`."""

import pytest

from cordwood.cluster.zookeeper.client.zookeeper_client import CreatedNode
from cordwood.cluster.zookeeper.client.zookeeper_errors import ConnectionLossError
from cordwood.testing.zookeeper.memory_zookeeper import MemoryZooKeeper
from cordwood.testing.zookeeper.memory_zookeeper_client import MemoryZooKeeperClient
from tests.simulation.world import World


@pytest.mark.parametrize(("arriving", "created"), ((0, []), (1, ["a"]), (3, ["a", "b", "c"])))
def test_broken_connection_lets_the_first_requests_arrive(
    arriving: int, created: list[str]
) -> None:
    world = World(0)
    server = MemoryZooKeeper(world.clock, world.clock)
    client = MemoryZooKeeperClient(server)

    with world.loop.running():
        client.start()
        world.run_until(100)
        calls = [client.create(f"/{name}") for name in "abc"]
        client.break_connection(arriving)
        world.run_until(200)

        assert server.tree.children("/") == created
        assert all(isinstance(call.exception(), ConnectionLossError) for call in calls)


def test_request_without_an_await_is_handled() -> None:
    world = World(0)
    server = MemoryZooKeeper(world.clock, world.clock)
    client = MemoryZooKeeperClient(server)

    with world.loop.running():
        client.start()
        created = client.create("/a")
        world.run_until(100)

    assert isinstance(created.result(), CreatedNode)
    assert client.requests_on_the_way == 0

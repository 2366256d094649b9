"""Tests of the server in memory: sessions in virtual time."""

from cordwood.cluster.zookeeper.client.zookeeper_client import SessionState, ZooKeeperClient
from cordwood.testing.zookeeper.memory_zookeeper import MemoryZooKeeper
from cordwood.testing.zookeeper.memory_zookeeper_client import MemoryZooKeeperClient
from tests.simulation.world import World

TIMEOUT_MS = 6_000


class Started:
    """A server with a client that has an ephemeral node."""

    def __init__(self) -> None:
        self.world = World(0)
        self.server = MemoryZooKeeper(self.world.clock, self.world.clock)
        self.client = MemoryZooKeeperClient(self.server, session_timeout_ms=TIMEOUT_MS)
        self.states = list[SessionState]()
        self.client.listen(self.states.append)

    def start(self) -> None:
        self.client.start()
        self.client.create("/a", ephemeral=True)
        self.world.run_until(100)

    def names(self) -> list[str]:
        return self.server.tree.children("/")


def test_session_ends_when_its_timeout_passes_without_a_connection() -> None:
    started = Started()
    with started.world.loop.running():
        started.start()
        started.client.cut()

        started.world.run_until(100 + TIMEOUT_MS - 1)
        assert started.names() == ["a"]
        started.world.run_until(100 + TIMEOUT_MS + 1)

    assert started.names() == []


def test_no_session_ends_while_the_server_is_down() -> None:
    started = Started()
    with started.world.loop.running():
        started.start()
        started.server.stop()
        started.world.run_until(10 * TIMEOUT_MS)
        started.server.restart()
        started.world.run_until(11 * TIMEOUT_MS)

    assert started.states == [
        SessionState.CONNECTED,
        SessionState.SUSPENDED,
        SessionState.CONNECTED,
    ]
    assert started.names() == ["a"]


def test_session_of_a_client_that_has_no_response_ends() -> None:
    started = Started()
    with started.world.loop.running():
        started.client.start()
        started.world.run_until(1.5)  # the server has opened the session, the client waits
        started.client.break_connection()
        started.world.run_until(3 * TIMEOUT_MS)

    assert started.states == [SessionState.CONNECTED]
    assert _is_port(started.client)


def _is_port(client: ZooKeeperClient) -> bool:
    return client.state is SessionState.CONNECTED

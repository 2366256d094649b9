"""World with ZooKeeper in memory, and brokers with a store each, in virtual time."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from cordwood.cluster.zookeeper.client.zookeeper_client import SessionState
from cordwood.cluster.zookeeper.store.guarded_writes import ControllerGuard
from cordwood.cluster.zookeeper.store.metadata_event import MetadataEvent
from cordwood.cluster.zookeeper.store.zookeeper_store import ZooKeeperStore
from cordwood.testing.zookeeper.memory_zookeeper import MemoryZooKeeper
from cordwood.testing.zookeeper.memory_zookeeper_client import MemoryZooKeeperClient
from tests.simulation.world import World

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

END_MS = 300_000
SESSION_TIMEOUT_MS = 6_000


class Member:
    """A broker: its client and its store."""

    def __init__(self, keeper: "StoreWorld", broker_id: int) -> None:
        self.broker_id = broker_id
        self.client = MemoryZooKeeperClient(
            keeper.server, session_timeout_ms=SESSION_TIMEOUT_MS, window=2
        )
        self.store = ZooKeeperStore(self.client, keeper.world.clock)

    async def elected(self) -> ControllerGuard:
        """Be elected as controller."""
        guard = await self.store.election.elect(self.broker_id)
        assert guard is not None
        return guard

    async def events(self, count: int) -> list[MetadataEvent]:
        """Return the next events."""
        return [await self.store.events.next() for _ in range(count)]

    def collect(self, world: World) -> list[MetadataEvent]:
        """Return a list that gets each event as it comes."""
        seen = list[MetadataEvent]()

        async def collect() -> None:
            while True:
                seen.append(await self.store.events.next())

        world.begin(collect())
        return seen

    async def restart_session(self) -> None:
        """Begin the next session, as a broker does after the end of one."""
        assert self.client.state is SessionState.EXPIRED
        await self.store.start()


class StoreWorld:
    """ZooKeeper, and the brokers that a scene starts."""

    def __init__(self, seed: int = 0) -> None:
        self.world = World(seed)
        self.server = MemoryZooKeeper(
            self.world.clock, self.world.clock, delay_ms=lambda: self.world.random.uniform(0.1, 5)
        )

    async def member(self, broker_id: int) -> Member:
        """Return a broker whose session has begun."""
        member = Member(self, broker_id)
        await member.store.start()
        return member

    def run(self, scene: Awaitable[T]) -> T:
        """Run a scene to its end in virtual time, and return its result."""
        results = list[T]()

        async def play() -> None:
            results.append(await scene)

        with self.world.loop.running():
            self.world.begin(play())
            self.world.run_until(END_MS)
        assert results, "the scene waits for ever"
        return results[0]

    async def settle(self, ms: float = 1_000) -> None:
        """Wait until nothing is on its way any more."""
        passed: asyncio.Future[None] = self.world.loop.create_future()
        self.world.after(ms, lambda: passed.set_result(None))
        await passed

    def nodes(self, path: str = "/") -> dict[str, bytes]:
        """Return all nodes below a path with their contents."""
        found = dict[str, bytes]()
        for name in self.server.tree.children(path):
            child = f"{path.rstrip('/')}/{name}"
            found[child] = self.server.tree.get(child).data
            found |= self.nodes(child)
        return found


def kind(error: Exception | None) -> str | None:
    """Return the name of an error's class."""
    return None if error is None else type(error).__name__


def play(scene: Callable[[StoreWorld], Awaitable[T]], *, seed: int = 0) -> T:
    """Run a scene in a world of its own."""
    world = StoreWorld(seed)
    return world.run(scene(world))

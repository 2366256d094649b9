"""Moves of a replica between two directories of a broker, over memory files."""

from collections.abc import Awaitable, Callable

from cordwood.broker.replication.replica_alter_log_dirs_manager import ReplicaAlterLogDirsManager
from cordwood.core.ports import Worker
from cordwood.storage.log.log_read import FetchIsolation
from cordwood.storage.log_config import LogConfig
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.storage.log_samples import batch, offsets
from tests.unit.storage.manager_samples import partition

SMALL = LogConfig(segment_bytes=2 * len(batch()))
FIRST = partition(0)


class Mover:
    """A broker that leads a partition with its log in /a."""

    def __init__(
        self, *, records: int = 5, config: LogConfig | None = None, worker: Worker | None = None
    ) -> None:
        self.harness = BrokerHarness(config=config, worker=worker)
        self.orders = self.harness.host(3)
        self.append(records)

    @property
    def moves(self) -> ReplicaAlterLogDirsManager:
        return self.harness.broker.log_dir_moves

    def append(self, records: int = 1) -> None:
        for _ in range(records):
            self.orders.append(memoryview(batch()))

    async def settle(self) -> None:
        await turns(60)

    async def move(self, path: str = "/b") -> None:
        await self.moves.alter(FIRST, path)
        await self.settle()

    @property
    def directory(self) -> str:
        return self.orders.log.directory

    def values(self) -> list[tuple[int, int]]:
        found = list[tuple[int, int]]()
        while (at := found[-1][1] + 1 if found else 0) < self.orders.log.bounds.log_end:
            read = self.orders.read(
                at, max_bytes=1 << 20, isolation=FetchIsolation.LOG_END, min_one=True
            )
            found += offsets(read)
        return found


def scene(play: Callable[[Mover], Awaitable[None]], mover: Mover | None = None) -> Mover:
    """Play a scene, and stop all moves at its end."""
    made = mover or Mover()

    async def whole() -> None:
        try:
            await play(made)
        finally:
            await made.moves.stop()

    run(whole())
    return made

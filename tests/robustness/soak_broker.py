"""A broker in virtual time, with real files, threads and sockets, on the loop of its clients.

The network and the logs share one clock, which only `advance` and `finish` move. So thirty days
pass in minutes, and every timer of the broker and of the clients fires in its order.
"""

import asyncio
import ssl
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Final, TypeVar

from cordwood.broker.services import BrokerServices
from cordwood.client.network.broker_connection import BrokerConnection
from cordwood.client.network.runtime import ClientRuntime, LoopTurn
from cordwood.client.settings import ClientSettings
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.core.ports import Lane, LoopPorts, OpenFile
from cordwood.core.settings import SettingSource
from cordwood.core.system import SystemFiles, ThreadWorker
from cordwood.node.node import Node
from cordwood.node.runtime import NodeRuntime
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock

T = TypeVar("T")

#: Turns of the loop without work after which its sockets are served.
_QUIET_TURNS: Final = 20
_STEP_S: Final = 60
_WAIT_MS: Final = 50


class CountedClock(VirtualClock):
    """A virtual clock that counts its timers."""

    @property
    def timers(self) -> int:
        """The number of timers that are not cancelled."""
        return sum(not timer.is_cancelled for _, _, timer in self._queue)


class CountedWorker:
    """The Worker port over one thread per lane; it knows the calls that have not ended."""

    def __init__(self) -> None:
        self._threads = ThreadWorker(1, ready=Lane)
        self._running = set[Future[object]]()

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        return self._counted(self._threads.submit(call, lane=lane))

    def sync(self, file: OpenFile) -> Future[None]:
        return self._counted(self._threads.sync(file))

    def close(self) -> None:
        self._threads.close()

    @property
    def running(self) -> tuple[Future[object], ...]:
        """The calls that have not ended."""
        return tuple(self._running)

    def _counted(self, call: Future[T]) -> Future[T]:
        """Return a future for the call's end, which has not ended before all its callbacks have.

        Else the clock could advance by hours while a busy machine keeps the thread from a callback.
        """
        counted = Future[T]()
        counted.set_running_or_notify_cancel()
        self._running.add(counted)  # type: ignore[arg-type]  # its result is not used

        def end(ended: Future[T]) -> None:
            error = ended.exception()
            if error is None:
                counted.set_result(ended.result())
            else:
                counted.set_exception(error)
            self._running.discard(counted)

        call.add_done_callback(end)
        return counted


class SoakBroker:
    """A node from `start` to `stop`; `settings` are added to its own."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self.folder = folder
        self.clock = CountedClock()
        self.random = SeededRandom(17)
        self.runtime = ClientRuntime(self.clock, self.clock, self.random)
        self._workers = CountedWorker(), CountedWorker()
        files = SystemFiles()
        worker, cleaner_worker = self._workers
        self._runtime = NodeRuntime(
            ports=LoopPorts(
                files=files,
                clock=self.clock,
                random=self.random,
                scheduler=self.clock,
                worker=worker,
            ),
            network_clock=self.clock,
            network_scheduler=self.clock,
            cleaner_runner=InlineRunner(files, PLAIN),
            cleaner_worker=cleaner_worker,
        )
        given = {"log.dirs": str(folder), **settings}
        self.node = Node([SettingSource("the soak", given)], self._runtime)
        self._services: BrokerServices | None = None

    @property
    def services(self) -> BrokerServices:
        """The services of the started broker."""
        assert self._services is not None, "it has been started"
        return self._services

    @property
    def bootstrap(self) -> str:
        """The address of the listener without TLS."""
        return str(self.node.addresses["PLAINTEXT"])

    async def start(self) -> None:
        self._services = await self.node.start()

    async def stop(self) -> None:
        """Stop the node, and its threads."""
        await self.finish(self.node.stop())
        self._services = None
        self._runtime.close()

    async def connect(
        self, listener: str = "PLAINTEXT", tls: ssl.SSLContext | None = None
    ) -> BrokerConnection:
        """Return a new connection."""
        settings = ClientSettings(bootstrap_servers=self.bootstrap)
        connection = BrokerConnection(self.node.addresses[listener], settings, self.runtime)
        await connection.open(tls)
        return connection

    async def settle(self) -> None:
        """Let every task and every thread run as far as it can without the clock."""
        quiet = 0
        while quiet < _QUIET_TURNS:
            running = [call for worker in self._workers for call in worker.running]
            quiet = 0 if running else quiet + 1
            if running:
                await asyncio.wait([asyncio.wrap_future(call) for call in running])
            await LoopTurn()

    async def advance(self, *, hours: float) -> None:
        """Advance the clock, a minute at a time."""
        end_ms = self.clock.monotonic_ms() + hours * 3_600_000
        while self.clock.monotonic_ms() < end_ms:
            await self.settle()
            self.clock.advance(seconds=_STEP_S)
        await self.settle()

    async def finish(self, work: Coroutine[object, object, T]) -> T:
        """Return the result of a coroutine; the clock advances while it waits."""
        task = asyncio.get_running_loop().create_task(work)
        while not task.done():
            await self.settle()
            if not task.done():
                self.clock.advance(ms=_WAIT_MS)
        return task.result()

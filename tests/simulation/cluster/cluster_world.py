"""World of a simulated cluster: each process has an event loop of its own, on one virtual clock.

A loop without a process that runs does nothing: its callbacks wait while the process is paused, and
are dropped when it has been killed. So a killed process runs no code at all, not even its `finally`
blocks; those of its coroutines run after the end of the simulation, when they change nothing.
"""

import asyncio
import math
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from contextvars import Context
from heapq import heappop, heappush
from types import CoroutineType
from typing import TYPE_CHECKING, Final, TypeVar

from cordwood.core.address import Address
from cordwood.core.types import TimestampMs
from tests.simulation.cluster.cluster_script import Step, rounded
from tests.simulation.simulation_loop import SimulationLoop
from tests.simulation.world import World

if TYPE_CHECKING:
    from cordwood.core.ports import Timer
    from tests.simulation.cluster.cluster_network import ClusterNetwork, Wire

T = TypeVar("T")

_NEXT_MS: Final = 0.001
WAITS: Final = "a process waits for something"


class ClusterWorld(World):
    """Time, chance and the record of what happened, for several processes.

    `random` has the delays of frames and of ZooKeeper's messages; faults are drawn elsewhere.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.processes = list[ProcessLoop]()
        #: Faults and operations of clients, as they happen.
        self.steps = list[Step]()
        self._due = deque[ProcessLoop]()
        self._planned = list[tuple[float, int, Callable[[], object]]]()
        self._plans = 0

    def make_due(self, process: "ProcessLoop") -> None:
        """Let a process run its callbacks at this time."""
        self._due.append(process)

    def plan(self, at_ms: float, call: Callable[[], object]) -> None:
        """Call between two callbacks of processes, at a time as scripts have it."""
        self._plans += 1
        at_ms = max(rounded(at_ms), rounded(self.now_ms + _NEXT_MS))
        heappush(self._planned, (at_ms, self._plans, call))

    def record(self, kind: str, *arguments: str) -> None:
        """Add a step of this time to the script."""
        self.steps.append(Step(rounded(self.now_ms), kind, arguments))

    def run_until(self, end_ms: float) -> None:
        """Run everything up to a time; raise the first violation."""
        clock, planned = self.clock, self._planned
        self._run_processes()
        while True:
            call_ms = clock.next_call_ms()
            call_ms = math.inf if call_ms is None else call_ms
            plan_ms = planned[0][0] if planned else math.inf
            if min(call_ms, plan_ms) > end_ms:
                break
            if call_ms <= plan_ms:
                clock.advance_to(call_ms)
            else:
                clock.advance_to(plan_ms)
                heappop(planned)[2]()
            self._run_processes()
            if self.violation is not None:
                raise self.violation
        clock.advance_to(end_ms)

    def close(self) -> None:
        """End the coroutines of all processes, which change nothing by now."""
        for each in self.processes:
            each.discard()

    def _run_processes(self) -> None:
        while self._due:
            process = self._due.popleft()
            process.run_due()
            if self.violation is not None:
                raise self.violation
            if process.errors:
                raise process.errors[0]


class ProcessLoop(SimulationLoop):
    """The loop of one process; `name` is its host in the network."""

    def __init__(self, name: str, world: ClusterWorld, network: "ClusterNetwork") -> None:
        super().__init__()
        self.name: Final = name
        self.world: Final = world
        self.is_alive = True
        self.is_paused = False
        self._network = network
        self._is_due = False
        self._tasks = list[tuple[asyncio.Task[object], Coroutine[object, object, object]]]()
        world.processes.append(self)

    # -- the process

    def begin(self, scene: Coroutine[object, object, object]) -> None:
        """Run a coroutine; its error is a failure of the simulation."""
        self.create_task(scene).add_done_callback(self._keep_error)

    def kill(self) -> None:
        """Run no callback from now on."""
        self.is_alive = False
        self._ready.clear()

    def pause(self) -> None:
        """Let all callbacks wait."""
        self.is_paused = True

    def resume(self) -> None:
        """Run the callbacks that have waited, and the later ones."""
        self.is_paused = False
        self._wake()

    def run_due(self) -> None:
        """Run the callbacks that are ready, unless the process is paused."""
        self._is_due = False
        if self.is_alive and not self.is_paused:
            with self.running():
                self.run_ready()

    def run_ready(self) -> None:
        """Run callbacks until none is ready; a process that never waits is a failure."""
        ready, run, left = self._ready, self._context.run, _MOST_CALLS
        while ready:
            callback, arguments = ready.popleft()
            run(callback, *arguments)
            left -= 1
            if left == 0:
                tasks = [each for each, _ in self._tasks if not each.done()]
                self.world.violate(WAITS, f"{self.name} runs {callback!r} of {tasks}")
                return

    def discard(self) -> None:
        """Close the coroutines that have not ended."""
        self.kill()
        # The public name of this is `run`, which a loop without selectors cannot offer.
        events._set_running_loop(self)  # noqa: SLF001  as above
        try:
            for _ in range(_MOST_WAITS_AT_END):
                tasks, self._tasks = self._tasks, []  # blocks may begin tasks
                running = [each for each in tasks if not each[0].done()]
                for task, scene in running:
                    task._log_destroy_pending = False  # type: ignore[attr-defined]  # private  # noqa: SLF001  as above
                    _close(scene)
                if not tasks:
                    break
        finally:
            events._set_running_loop(None)  # noqa: SLF001  as above
        self._ready.clear()

    # -- the loop

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        handle = super().call_soon(callback, *args, context=context)
        if not self.is_alive:
            self._ready.clear()
        self._wake()
        return handle

    call_soon_threadsafe = call_soon

    def create_task(
        self,
        coro: Coroutine[object, object, T] | Generator[object, None, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        task = super().create_task(coro, name=name, context=context)
        if len(self._tasks) > _MOST_DONE_TASKS and len(self._tasks) > 2 * self._running_tasks:
            self._tasks = [each for each in self._tasks if not each[0].done()]
            self._running_tasks = len(self._tasks)
        self._tasks.append((task, coro))  # type: ignore[arg-type]  # no generators here
        return task

    _running_tasks = 0

    async def create_connection(  # type: ignore[override]  # the part that clients use
        self, factory: Callable[[], asyncio.BufferedProtocol], host: str, port: int, **_: object
    ) -> "tuple[Wire, asyncio.BufferedProtocol]":
        return await self._network.connect(self, factory, Address(host, port))

    def _wake(self) -> None:
        if not self._is_due and self.is_alive and not self.is_paused:
            self._is_due = True
            self.world.make_due(self)

    def _keep_error(self, task: asyncio.Task[object]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.errors.append(error)


_MOST_DONE_TASKS: Final = 64
_MOST_WAITS_AT_END: Final = 1_000
#: A timer fires a little late, as those of a system do. At its very time, the rounding of a sum can
#: let a client find that it is not due yet.
_LATE_MS: Final = 0.05
#: Callbacks of one process at one time.
_MOST_CALLS: Final = 20_000


def _close(scene: Coroutine[object, object, object]) -> None:
    """Close a coroutine after those for which it waits; a `finally` block may wait again."""
    for _ in range(_MOST_WAITS_AT_END):
        chain: list[CoroutineType[object, object, object]] = []
        awaited: object = scene
        while isinstance(awaited, CoroutineType) and awaited.cr_frame is not None:
            chain.append(awaited)
            awaited = awaited.cr_await
        if not chain:
            return
        with suppress(BaseException):
            chain[-1].close()


class _ProcessTimer:
    """A timer whose call runs in the loop of its process."""

    __slots__ = ("_call", "_is_waiting", "_process", "timer")

    def __init__(self, process: ProcessLoop, call: Callable[[], object]) -> None:
        self._process = process
        self._call: Callable[[], object] | None = call
        self._is_waiting = False
        self.timer: Timer | None = None

    def fire(self) -> None:
        """Let the process run the call; while it is paused, a repeated call waits once."""
        if not self._is_waiting:
            self._is_waiting = True
            self._process.call_soon(self._run)

    def cancel(self) -> None:
        self._call = None
        if self.timer is not None:
            self.timer.cancel()

    def _run(self) -> None:
        self._is_waiting = False
        if self._call is not None:
            self._call()


def new_process(name: str, world: ClusterWorld, network: "ClusterNetwork") -> ProcessLoop:
    """Return the loop of a process that begins."""
    # asyncio has no abstract methods, only its type hints do.
    return ProcessLoop(name, world, network)  # type: ignore[abstract]  # a part is enough


class ProcessClock:
    """The Clock and the Scheduler of one process."""

    def __init__(self, process: ProcessLoop) -> None:
        self._process = process
        self._clock = process.world.clock

    def now_ms(self) -> TimestampMs:
        return self._clock.now_ms()

    def monotonic_ms(self) -> float:
        return self._clock.monotonic_ms()

    def call_at(self, when_ms: float, call: Callable[[], object]) -> _ProcessTimer:
        made = _ProcessTimer(self._process, call)
        if self._process.is_alive:
            at_ms = max(when_ms, self._clock.monotonic_ms()) + _LATE_MS
            made.timer = self._clock.call_at(at_ms, made.fire)
        return made

    def every(self, interval_ms: float, call: Callable[[], object]) -> _ProcessTimer:
        made = _ProcessTimer(self._process, call)
        if self._process.is_alive:
            made.timer = self._clock.every(interval_ms, made.fire)
        return made

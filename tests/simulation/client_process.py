"""Process of a client: its coroutines run until it dies, and not while it is paused.

A pause stands for a long garbage collection or a stopped machine: time passes, responses arrive,
and the client then goes on as if nothing had happened. That makes zombies.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final, TypeVar

from cordwood.core.errors import KafkaError
from cordwood.protocol.schema import Request
from tests.simulation.network import Answered, Call, Channel, Network, OnServed
from tests.simulation.simulated_broker import ProduceBatch
from tests.simulation.world import World

R = TypeVar("R")

REQUEST_TIMEOUT_MS: Final = 1_500.0
_RESUMED_MS: Final = 5.0


class ClientProcess:
    """A client process; subclasses have its work."""

    def __init__(self, name: str, world: World, network: Network) -> None:
        self.name: Final = name
        self.world: Final = world
        self.is_alive = True
        #: Whether the user works; otherwise it only polls.
        self.is_working = True
        self.paused_until_ms = 0.0
        #: Called once the process has died.
        self.on_death: Callable[[], object] = lambda: None
        self._network = network
        self._tasks = dict[asyncio.Task[object], None]()

    def begin(self, scene: Coroutine[object, object, object]) -> None:
        """Run a coroutine of this process."""
        task = self.world.loop.create_task(scene)
        self._tasks[task] = None
        task.add_done_callback(self._end)

    def die(self) -> None:
        """End at once, with everything that is under way."""
        if not self.is_alive:
            return
        self.note("dies")
        self.is_alive = False
        for task in [*self._tasks]:
            task.cancel()
        self.on_death()

    def pause(self, duration_ms: float) -> None:
        """Do nothing for a time."""
        self.note("is paused for {:.0f} ms", duration_ms)
        self.world.count("pauses of clients")
        self.paused_until_ms = self.world.now_ms + duration_ms

    def note(self, text: str, *arguments: object) -> None:
        """Add a line to the history."""
        self.world.note("{}: " + text, self.name, *arguments)

    async def sleep(self, duration_ms: float) -> None:
        """Wait in virtual time."""
        woken: asyncio.Future[None] = self.world.loop.create_future()
        self.after(duration_ms, lambda: None if woken.done() else woken.set_result(None))
        await woken

    def after(self, delay_ms: float, call: Callable[[], object]) -> None:
        """Call once after a delay, unless the process has died."""
        self.at(self.world.now_ms + delay_ms, call)

    def at(self, when_ms: float, call: Callable[[], object]) -> None:
        """Call once at a time, unless the process has died."""
        self.world.at(when_ms, lambda: self._run(call))

    async def call(
        self,
        channel: Channel,
        request: Request | ProduceBatch,
        version: int,
        *,
        timeout_ms: float = REQUEST_TIMEOUT_MS,
        on_served: OnServed | None = None,
    ) -> Answered:
        """Send a request; return its response or error."""
        call = Call(channel, request, version, self.world.loop.create_future())
        call.on_served = on_served
        self._network.send(call, timeout_ms=timeout_ms)
        answered = await call.answer
        while self.paused_until_ms > self.world.now_ms:
            await self.sleep(self.paused_until_ms - self.world.now_ms)
        return answered

    def _run(self, call: Callable[[], object]) -> None:
        if not self.is_alive:
            return
        if self.paused_until_ms > self.world.now_ms:
            # All calls that were due meanwhile run in any order.
            self.at(self.paused_until_ms + self.world.random.uniform(0, _RESUMED_MS), call)
        else:
            call()

    def _end(self, task: "asyncio.Task[object]") -> None:
        self._tasks.pop(task, None)
        self.world.end(task)


def response_of(answered: Answered, kind: type[R]) -> R:
    """Return a response, or raise the error that came instead."""
    if isinstance(answered, KafkaError):
        raise answered
    assert isinstance(answered, kind), f"{answered!r} is not a {kind.__name__}"
    return answered


def error_code(answered: Answered) -> int:
    """Return the error code of a whole response, 0 without one."""
    if isinstance(answered, KafkaError):
        return answered.code
    code = getattr(answered, "error_code", 0)
    assert isinstance(code, int)
    return code

"""Worker of a simulation: calls run at once, and their results come after a drawn time."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, TypeVar

from cordwood.core.ports import Lane, OpenFile
from tests.simulation.world import World

T = TypeVar("T")

_LONGEST_MS: Final = 200.0


class LateWorker:
    """A `Worker` in virtual time."""

    def __init__(self, world: World) -> None:
        self._world = world

    def submit(self, call: Callable[[], T], *, lane: Lane) -> Future[T]:
        pending: Future[T] = Future()
        delay_ms = self._world.random.uniform(0, _LONGEST_MS)
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - the worker owns the task; the future carries it
            failure = error
            self._world.after(delay_ms, lambda: pending.set_exception(failure))
        else:
            self._world.after(delay_ms, lambda: pending.set_result(result))
        return pending

    def sync(self, file: OpenFile) -> Future[None]:
        return self.submit(file.sync, lane=Lane.FLUSH)

    def close(self) -> None:
        """Do nothing: no thread waits."""

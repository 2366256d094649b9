"""World of one simulation: virtual time, chance, the event loop, the history and the counts.

Everything that happens is drawn from one seed, and runs in the order of virtual time. The history
has a line for each event; it is written out only if an invariant is violated.
"""

from asyncio import Task
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import NamedTuple

from cordwood.core.ports import Timer
from cordwood.testing.virtual_clock import VirtualClock
from tests.simulation.simulation_loop import SimulationLoop

#: Lines of the history that a failure shows.
_SHOWN = 400


class InvariantViolation(AssertionError):  # noqa: N818  the noun of the tests
    """An invariant does not hold; `invariant` is its name."""

    def __init__(self, invariant: str, text: str) -> None:
        super().__init__(f"{invariant}: {text}")
        self.invariant = invariant


class Event(NamedTuple):
    """A line of the history, with its arguments."""

    at_ms: float
    text: str
    arguments: tuple[object, ...]

    def __str__(self) -> str:
        return f"{self.at_ms:10.2f}  {self.text.format(*self.arguments)}"


class World:
    """Time, chance and the record of what happened."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.clock = VirtualClock()
        # asyncio has no abstract methods, only its type hints do.
        self.loop = SimulationLoop()  # type: ignore[abstract]  # a part of a loop is enough
        self.counts = Counter[str]()
        self.history = list[Event]()
        self.violation: InvariantViolation | None = None
        #: Whether faults are injected; the end of a simulation is without them.
        self.is_faulty = True
        #: Whether all transactions are decided.
        self.is_over = False

    @property
    def now_ms(self) -> float:
        """The time since the beginning."""
        return self.clock.monotonic_ms()

    # -- chance

    def draws(self, probability: float) -> bool:
        """Return whether a fault of this probability is injected now."""
        return self.is_faulty and self.random.random() < probability

    # -- time

    def at(self, when_ms: float, call: Callable[[], object]) -> Timer:
        """Call once at a time."""
        return self.clock.call_at(when_ms, call)

    def after(self, delay_ms: float, call: Callable[[], object]) -> Timer:
        """Call once after a delay."""
        return self.clock.call_at(self.clock.monotonic_ms() + delay_ms, call)

    def begin(self, scene: Coroutine[object, object, object]) -> None:
        """Run a coroutine; its error is a failure of the simulation."""
        self.loop.create_task(scene).add_done_callback(self.end)

    def end(self, task: Task[object]) -> None:
        """Keep the error of a task."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.loop.errors.append(error)

    def run_until(self, end_ms: float) -> None:
        """Run everything up to a time; raise the first violation."""
        clock, loop = self.clock, self.loop
        loop.run_ready()
        while (next_ms := clock.next_call_ms()) is not None and next_ms <= end_ms:
            clock.advance_to(next_ms)
            loop.run_ready()
            if self.violation is not None or loop.errors:
                raise self.violation or loop.errors[0]
        clock.advance_to(end_ms)

    # -- the record

    def note(self, text: str, *arguments: object) -> None:
        """Add a line to the history; its arguments are formatted later."""
        self.history.append(Event(self.clock.monotonic_ms(), text, arguments))

    def count(self, kind: str) -> None:
        """Count a fault, or an effect of one."""
        self.counts[kind] += 1

    def violate(self, invariant: str, text: str) -> None:
        """Note the first violation, which ends the simulation."""
        self.note("VIOLATED {}: {}", invariant, text)
        if self.violation is None:
            self.violation = InvariantViolation(invariant, text)

    def story(self) -> str:
        """Return the last lines of the history."""
        return "\n".join(map(str, self.history[-_SHOWN:]))

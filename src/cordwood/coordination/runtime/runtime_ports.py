"""Ports and facts that the shards of one runtime share."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from cordwood.coordination.coordinator_record import RecordTypes
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.outcome import EventCount
from cordwood.coordination.ports import InternalLog
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.core.ports import Clock, Scheduler, Worker

S = TypeVar("S", bound=CoordinatorShard)

#: The time of one turn of the loop.
TURN_MS: Final = 2


def _ignore(*_: object) -> None:
    """Take a fact for metrics where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimePorts:
    """Time, threads and turns.

    `clock` and `scheduler` are those of the logs, which a test may set. Those of the network
    measure turns of the event loop and retries, in real time. `next_turn` waits for another turn;
    `call_soon` is thread-safe. `count` receives the events of metrics, and `loaded` the topic of a
    partition with the time of its load.
    """

    clock: Clock
    scheduler: Scheduler
    worker: Worker
    network_clock: Clock
    network_scheduler: Scheduler
    next_turn: Callable[[], Awaitable[None]]
    call_soon: Callable[[Callable[[], object]], object]
    count: Callable[[EventCount], object] = _ignore
    loaded: Callable[[str, float], object] = _ignore

    async def pause(self, wait_ms: float) -> None:
        """Wait in the time of the network."""
        ended = asyncio.Event()
        timer = self.network_scheduler.call_at(
            self.network_clock.monotonic_ms() + wait_ms, ended.set
        )
        try:
            await ended.wait()
        finally:
            timer.cancel()

    def turn_end(self) -> float:
        """Return when a turn ends that begins now."""
        return self.network_clock.monotonic_ms() + TURN_MS

    def is_over(self, end_ms: float) -> bool:
        """Return whether a turn is over."""
        return self.network_clock.monotonic_ms() >= end_ms


class GoneSignal(Protocol):
    """A signal that fires once, when the client of a request has gone, or the server stops."""

    def watch(self, call: Callable[[], object]) -> None:
        """Add a callback; it is made at once if the signal has fired."""

    def unwatch(self, call: Callable[[], object]) -> None:
        """Remove a callback."""


@dataclass(frozen=True, slots=True)
class ShardKind(Generic[S]):
    """The shards of one internal topic; `make` returns an empty one for a partition.

    A load replays runs of commits with `replay_run`, or single records if there is none.
    """

    topic: str
    records: RecordTypes
    make: Callable[[InternalLog], S]
    replay_run: Callable[[S, CommittedRun], object] | None = None

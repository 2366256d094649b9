"""One partition of an internal topic on its leader (Kafka: `CoordinatorContext`).

    INITIAL ──► LOADING ──► ACTIVE ──► LOADING   after a failed append, or an unexpected error
                   └──► FAILED ──► LOADING       after a backoff, while the leadership lasts
    any ──► CLOSED                               the leadership has ended

A request to a partition that loads gets COORDINATOR_LOAD_IN_PROGRESS; to one that has failed or is
closed NOT_COORDINATOR.

A load ends when all loaded records count. Kafka serves before that: its groups answer reads from
the records that count, and its transactions from all records. A record that does not count may be
lost with the next leader, after a client has read it, or after markers were written for it.
"""

import asyncio
import logging
from collections.abc import Callable
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from cordwood.coordination.ports import InternalLog
from cordwood.coordination.runtime import shard_loader
from cordwood.coordination.runtime.active_shard import ActiveShard
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.coordinator_timers import CoordinatorTimers
from cordwood.coordination.runtime.runtime_ports import RuntimePorts, ShardKind
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import (
    CoordinatorLoadInProgressError,
    KafkaError,
    NotCoordinatorError,
)

if TYPE_CHECKING:
    from cordwood.coordination.outcome import Outcome
    from cordwood.core.ports import Timer

S = TypeVar("S", bound=CoordinatorShard)

_log = logging.getLogger(__name__)

#: The first and the longest time before a partition that has failed is loaded again.
FIRST_BACKOFF_MS: Final = 100
LONGEST_BACKOFF_MS: Final = 30_000
#: A shard that has served for this time has no failures behind it.
_STABLE_MS: Final = 60_000


class ShardState(Enum):
    """The states of a partition; the module's docstring draws them."""

    INITIAL = auto()
    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()
    CLOSED = auto()


class CoordinatorContext(Generic[S]):
    """The coordinator of one partition, in one leader epoch."""

    def __init__(
        self,
        log: InternalLog,
        kind: ShardKind[S],
        ports: RuntimePorts,
        *,
        timers: CoordinatorTimers,
    ) -> None:
        self.log: Final = log
        self.state = ShardState.INITIAL
        self.active: ActiveShard[S] | None = None
        #: Begins a load in the background.
        self.begin_load: Callable[[], object] = lambda: None
        #: Sees each outcome of an active shard once it counts.
        self.perform: Callable[[Outcome], object] = lambda _: None
        self._kind = kind
        self._ports = ports
        self._timers = timers
        self._failures = 0
        self._active_since_ms = 0.0
        self._retry: Timer | None = None
        self._tasks = set[asyncio.Task[None]]()

    def cancel_at_end(self, task: asyncio.Task[None]) -> None:
        """Cancel a task of the active shard when that ends."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def require_active(self) -> ActiveShard[S]:
        """Return the shard if it serves; raise the error for clients otherwise."""
        if self.active is not None:
            return self.active
        words = f"partition {self.log.partition} of {self._kind.topic}"
        if self.state in (ShardState.INITIAL, ShardState.LOADING):
            raise CoordinatorLoadInProgressError(f"{words} is being loaded")
        raise NotCoordinatorError(f"{words} is not coordinated here")

    async def load(self, view: Callable[[], TopicView], slots: asyncio.Semaphore) -> None:
        """Load the partition and begin to serve; a failure leads to another load.

        A load waits for one of the `slots`, and frees it before it waits until the records count.
        """
        self._retry = None
        try:
            async with slots:
                if self.state is ShardState.CLOSED:
                    return
                self.state = ShardState.LOADING
                begun_ms = self._ports.network_clock.monotonic_ms()
                shard = self._kind.make(self.log)
                active = ActiveShard(shard, self.log, self._ports, timers=self._timers)
                active.next_offset = await shard_loader.load(
                    shard, self.log, kind=self._kind, ports=self._ports
                )
            await self.log.wait_until_committed()
        except KafkaError as error:
            _log.warning("%s-%s is not loaded: %s", self._kind.topic, self.log.partition, error)
            self._fail()
        except Exception:  # noqa: BLE001 - the task's owner; the partition is loaded again
            _log.exception("%s-%s cannot be loaded", self._kind.topic, self.log.partition)
            self._fail()
        else:
            took_ms = self._ports.network_clock.monotonic_ms() - begun_ms
            self._ports.loaded(self._kind.topic, took_ms)
            self._serve(active, view())

    def _serve(self, active: ActiveShard[S], view: TopicView) -> None:
        if self.state is ShardState.CLOSED:
            return
        self.state, self.active = ShardState.ACTIVE, active
        self._active_since_ms = self._ports.network_clock.monotonic_ms()
        active.on_broken = self._on_broken
        active.perform = self.perform
        self.update_topics(view)
        if self.active is active:
            active.run(lambda shard, now_ms: shard.finish_load(now_ms))

    def update_topics(self, view: TopicView) -> bool:
        """Show the topics to a shard that has not seen them; return whether there was one."""
        active = self.active
        if active is None or active.topics_version == view.version:
            return False
        active.topics_version = view.version
        active.run(lambda shard, now_ms: shard.on_topics(view, now_ms))
        return True

    def close(self, error: KafkaError) -> None:
        """Stop to serve: the leadership has ended."""
        self.state = ShardState.CLOSED
        if self._retry is not None:
            self._retry.cancel()
        active, self.active = self.active, None
        if active is not None:
            active.close(error)
        self._cancel_tasks()

    def _on_broken(self, error: KafkaError) -> None:
        _log.warning("%s-%s is loaded again: %s", self._kind.topic, self.log.partition, error)
        self.active = None
        self._cancel_tasks()
        served_ms = self._ports.network_clock.monotonic_ms() - self._active_since_ms
        if served_ms >= _STABLE_MS:
            self._failures = 0
        if self._failures == 0:
            self._failures = 1
            self.state = ShardState.LOADING
            self.begin_load()
        else:
            self._load_later(ShardState.LOADING)

    def _cancel_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()

    def _fail(self) -> None:
        if self.state is not ShardState.CLOSED:
            self._load_later(ShardState.FAILED)

    def _load_later(self, state: ShardState) -> None:
        self.state = state
        wait_ms = min(FIRST_BACKOFF_MS << min(self._failures, 10), LONGEST_BACKOFF_MS)
        self._failures += 1
        now_ms = self._ports.network_clock.monotonic_ms()
        self._retry = self._ports.network_scheduler.call_at(now_ms + wait_ms, self.begin_load)

"""Shards of one internal topic on this broker (Kafka: `CoordinatorRuntime`).

elect            this broker leads a partition: load its shard
resign           it does not any more: answer everything that waits, drop the shard
call             run a method of a request on the shard of a partition
end_transaction  write the marker of a transaction, and apply it to the shard
update_topics    show changed topics to all shards
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final, Generic, TypeAlias, TypeVar

from cordwood.coordination.outcome import Outcome, Ticket
from cordwood.coordination.ports import InternalLog, TransactionMarker
from cordwood.coordination.runtime.background_tasks import BackgroundTasks
from cordwood.coordination.runtime.coordinator_context import CoordinatorContext, ShardState
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.coordinator_timers import CoordinatorTimers
from cordwood.coordination.runtime.runtime_ports import GoneSignal, RuntimePorts, ShardKind
from cordwood.coordination.topic_view import Topics, TopicView
from cordwood.core.errors import (
    CoordinatorNotAvailableError,
    FencedLeaderEpochError,
    NotCoordinatorError,
)
from cordwood.core.ports import Pending
from cordwood.protocol.schema import Response

S = TypeVar("S", bound=CoordinatorShard)
R = TypeVar("R", bound=Response)
T = TypeVar("T")

ShardMethod: TypeAlias = Callable[[S, Ticket, int], Outcome]
"""Calls the method of one request with the shard, the ticket and the time."""

#: Partitions that are loaded at a time; others wait.
_LOADS: Final = 4


class CoordinatorRuntime(Generic[S]):
    """The shards of one topic; used on the event loop alone."""

    def __init__(self, kind: ShardKind[S], ports: RuntimePorts) -> None:
        self._kind = kind
        self.ports: Final = ports
        self._timers = CoordinatorTimers(ports)
        self._contexts: dict[int, CoordinatorContext[S]] = {}
        self.tasks: Final = BackgroundTasks()
        self._loads = asyncio.Semaphore(_LOADS)
        self._view: TopicView = Topics()
        self._is_updating = False
        self._is_stopped = False

    # -- leadership

    def elect(self, log: InternalLog) -> None:
        """Coordinate a partition in the leader epoch of its log; an older one is resigned.

        A runtime that has stopped coordinates nothing.
        """
        if self._is_stopped:
            return
        present = self._contexts.get(log.partition)
        if present is not None:
            if log.leader_epoch < present.log.leader_epoch:
                raise FencedLeaderEpochError(
                    f"{self._kind.topic}-{log.partition} has a later leader epoch"
                )
            self.resign(log.partition)
        context = CoordinatorContext(log, self._kind, self.ports, timers=self._timers)
        context.perform = partial(self.perform, context)
        context.begin_load = lambda: self.tasks.begin(self._load(context))
        self._contexts[log.partition] = context
        context.begin_load()

    def resign(self, partition: int) -> None:
        """Stop to coordinate a partition, if it is coordinated here."""
        context = self._contexts.pop(partition, None)
        if context is not None:
            words = f"another broker coordinates {self._kind.topic}-{partition}"
            context.close(NotCoordinatorError(words))

    def log(self, partition: int) -> InternalLog | None:
        """Return the log of a partition that is coordinated here."""
        context = self._contexts.get(partition)
        return None if context is None else context.log

    def active_partitions(self) -> list[int]:
        """Return the numbers of the partitions that serve."""
        return [number for number, each in self._contexts.items() if each.active is not None]

    def states(self) -> Iterator[ShardState]:
        """Yield the state of each partition that is coordinated here."""
        return (each.state for each in self._contexts.values())

    def shards(self) -> Iterator[S]:
        """Yield the shards that serve."""
        for context in self._contexts.values():
            if context.active is not None:
                yield context.active.shard

    def partitions(self) -> Iterable[int]:
        """Return the numbers of all partitions that are coordinated here, or will be."""
        return [*self._contexts]

    async def _load(self, context: CoordinatorContext[S]) -> None:
        await context.load(lambda: self._view, self._loads)

    # -- requests

    async def call(
        self,
        partition: int,
        method: ShardMethod[S],
        *,
        answer: type[R],
        gone: GoneSignal | None = None,
    ) -> R:
        """Run a method on the shard of a partition; return its answer, or raise its KafkaError.

        A caller that is cancelled, or whose client has gone, gets no answer of the shard, which is
        not notified.
        """
        active = self._context(partition).require_active()
        ticket, future = active.begin(method)
        try:
            if not future.done() and gone is not None:
                response = await _unless_gone(future, gone)
            else:
                response = future.result() if future.done() else await future
        finally:
            active.calls.end(ticket)
        assert isinstance(response, answer), f"{answer.__name__}, not {response!r}"
        return response

    def begin(self, partition: int, method: ShardMethod[S]) -> asyncio.Future[Response]:
        """Run a method on the shard of a partition; return the future of its answer."""
        return self._context(partition).require_active().begin(method)[1]

    async def read(self, partition: int, look: Callable[[S], T]) -> T:
        """Return what `look` finds in the shard of a partition, which it does not change.

        It runs as an event: within a long one, a group that changes its protocol is in none.
        """
        found = list[T]()

        def event(  # tidy: allow[positional] as ShardMethod
            shard: S, ticket: Ticket, _: int
        ) -> Outcome:
            found.append(look(shard))
            return Outcome.answer(ticket, Response())

        await self.call(partition, event, answer=Response)
        return found[0]

    def ensure_active(self, partition: int) -> None:
        """Raise the error of a request to a partition that does not serve."""
        self._context(partition).require_active()

    def end_transaction(self, partition: int, marker: TransactionMarker) -> Pending[int]:
        """Write a marker into a partition and apply it; the result is done when it counts."""
        return self._context(partition).require_active().end_transaction(marker)

    def _context(self, partition: int) -> CoordinatorContext[S]:
        if self._is_stopped:
            raise CoordinatorNotAvailableError("the broker stops")
        context = self._contexts.get(partition)
        if context is None:
            raise NotCoordinatorError(
                f"this broker does not coordinate {self._kind.topic}-{partition}"
            )
        return context

    def perform(self, context: CoordinatorContext[S], outcome: Outcome) -> None:
        """Do what an outcome asks for beyond records, answers and timers: nothing here."""

    # -- topics

    def update_topics(self, view: TopicView) -> None:
        """Show other topics to all shards, some in each turn of the loop."""
        self._view = view
        if not self._is_updating and self._contexts:
            self._is_updating = True
            self.tasks.begin(self._update_shards())

    async def _update_shards(self) -> None:
        try:
            end_ms = self.ports.turn_end()
            while (context := self._next_outdated()) is not None:
                context.update_topics(self._view)
                if self.ports.is_over(end_ms):
                    await self.ports.next_turn()
                    end_ms = self.ports.turn_end()
        finally:
            self._is_updating = False

    def _next_outdated(self) -> CoordinatorContext[S] | None:
        return next(self._outdated(), None)

    def _outdated(self) -> Iterator[CoordinatorContext[S]]:
        for context in self._contexts.values():
            active = context.active
            if active is not None and active.topics_version != self._view.version:
                yield context

    # -- the end

    async def stop(self) -> None:
        """Resign all partitions and end all tasks; requests get COORDINATOR_NOT_AVAILABLE."""
        self._is_stopped = True
        error = CoordinatorNotAvailableError("the broker stops")
        contexts, self._contexts = self._contexts, {}
        for context in contexts.values():
            context.close(error)
        await self.tasks.stop()


async def _unless_gone(future: asyncio.Future[Response], gone: GoneSignal) -> Response:
    """Wait for an answer; raise an error once the client has gone."""

    def give_up() -> None:
        if not future.done():
            future.set_exception(CoordinatorNotAvailableError("the connection ends"))

    gone.watch(give_up)
    try:
        return await future
    finally:
        gone.unwatch(give_up)

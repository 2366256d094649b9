"""Turns of topic requests: one change of the metadata at a time, and one work on a topic's logs.

A change waits until no work on its topics is in progress (`busy_topics`). A request whose turn
comes at its deadline or later has no effect; one that has begun is completed (`request_tasks`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TypeAlias, TypeVar

from cordwood.broker.metadata.metadata_writer import MetadataChange, MetadataWriter
from cordwood.broker.topics.busy_topics import BusyTopics, TopicWork
from cordwood.broker.topics.request_deadline import RequestDeadline
from cordwood.broker.topics.request_tasks import RequestTasks
from cordwood.broker.topics.topic_selection import TopicReference
from cordwood.core.errors import KafkaError

T = TypeVar("T")

Turn: TypeAlias = AbstractAsyncContextManager[MetadataChange]
"""Waits for the turn of a request; its block is the change of the metadata."""
FindWork: TypeAlias = Callable[[], asyncio.Event | None]


class TopicTurns:
    """The turns of all requests that change topics."""

    def __init__(self, writer: MetadataWriter) -> None:
        self.busy = BusyTopics()
        self._writer = writer
        self._tasks = RequestTasks()

    def after_deletions(self, names: Iterable[str], deadline: RequestDeadline | None) -> Turn:
        """Return a turn when none of these topics is being deleted."""
        return self._turn(partial(self.busy.named, [*names], TopicWork.DELETION), deadline)

    def alone(self, names: Iterable[str], deadline: RequestDeadline | None = None) -> Turn:
        """Return a turn when there is no work on these topics."""
        return self._turn(partial(self.busy.named, [*names]), deadline)

    def alone_with(
        self, references: Iterable[TopicReference], deadline: RequestDeadline | None
    ) -> Turn:
        """Return a turn when there is no work on topics given by name or by id."""
        names = [each.name for each in references if each.name is not None]
        topic_ids = [each.topic_id for each in references]

        def find_work() -> asyncio.Event | None:
            return self.busy.named([*names, *self.busy.with_ids(topic_ids)])

        return self._turn(find_work, deadline)

    async def run(
        self, scene: Coroutine[object, object, None], *, deadline: RequestDeadline | None = None
    ) -> None:
        """Run a request to its end, also without its caller; see `RequestTasks.run`."""
        await self._tasks.run(scene, deadline=deadline)

    async def outcomes_of(
        self,
        scene: Coroutine[object, object, None],
        outcomes: list[T | KafkaError],
        *,
        deadline: RequestDeadline | None,
    ) -> list[T | KafkaError]:
        """Run a request; return its outcomes, with an error for each if its time is over."""
        return await self._tasks.outcomes_of(scene, outcomes, deadline=deadline)

    async def stop(self) -> None:
        """Wait until all requests that have begun are complete."""
        await self._tasks.stop()

    @asynccontextmanager
    async def _turn(
        self, find_work: FindWork, deadline: RequestDeadline | None
    ) -> AsyncIterator[MetadataChange]:
        while True:
            await _wait_for_end(find_work)
            async with self._writer.change() as change:
                if find_work() is not None:
                    continue
                if deadline is not None:
                    deadline.ensure_time()
                yield change
                return


async def _wait_for_end(find_work: FindWork) -> None:
    while (end := find_work()) is not None:
        await end.wait()

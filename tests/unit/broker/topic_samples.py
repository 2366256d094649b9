"""Requests for topics, and a broker whose worker is held, for tests."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TypeVar

from cordwood.broker.hosting.partition_states import read_state
from cordwood.broker.topics.topic_planning import Planned, PlannedTopic
from cordwood.broker.topics.topic_validation import NewTopic
from cordwood.core.znodes import ZNodeChange
from cordwood.testing.memory_metadata import MemoryMetadata
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.storage.manager_samples import HeldWorker, partition

T = TypeVar("T")


def create(harness: BrokerHarness, *new: NewTopic, validate_only: bool = False) -> list[str]:
    """Create topics; return their names or the error messages."""
    outcomes = run(harness.broker.topics.create(new, validate_only=validate_only))
    return [
        each.image.name if isinstance(each, PlannedTopic) else type(each).__name__
        for each in outcomes
    ]


class CountedMetadata(MemoryMetadata):
    """Metadata that count the changes."""

    def __init__(self) -> None:
        super().__init__()
        self.written = 0

    def multi(self, changes: Sequence[ZNodeChange]) -> None:
        self.written += 1
        super().multi(changes)


def directories_of(harness: BrokerHarness, count: int) -> list[str | None]:
    """Return the paths of the stored directories of a topic's partitions."""
    paths = {
        each.meta.directory_id: each.path
        for each in harness.manager.directories
        if each.meta is not None
    }
    states = [read_state(harness.store, partition(each)) for each in range(count)]
    return [paths.get(state.directory) for state in states if state is not None]


class BusyHarness(BrokerHarness):
    """A broker whose worker holds every call until `work` runs it."""

    def __init__(self) -> None:
        self.worker = HeldWorker()
        super().__init__(worker=self.worker)

    async def work(self, rounds: int = 1) -> None:
        """Let the tasks run, and then the calls that they have submitted."""
        for _ in range(rounds):
            await turns(5)
            self.worker.go_on()
        await turns(5)

    async def finish(self, *tasks: asyncio.Task[T]) -> list[T]:
        while not all(task.done() for task in tasks):
            await self.work()
        return [task.result() for task in tasks]


def begin(scene: Coroutine[object, object, T]) -> asyncio.Task[T]:
    return asyncio.get_running_loop().create_task(scene)


def begin_creation(harness: BrokerHarness, *names: str) -> asyncio.Task[list[Planned]]:
    return begin(harness.broker.topics.create([NewTopic(name=name) for name in names]))

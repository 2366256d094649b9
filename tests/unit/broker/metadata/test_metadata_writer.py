"""Tests of the single writer of the metadata."""

import asyncio

import pytest

from cordwood.broker.metadata.metadata_writer import MetadataWriter
from cordwood.core.errors import MetadataConflictError
from cordwood.core.ports import MetadataStore, Worker
from cordwood.core.znodes import CreateZNode, DeleteZNode, ZNodeChange
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_metadata import MemoryMetadata
from tests.unit.storage.manager_samples import HeldWorker


class WriterHarness:
    """A metadata writer with a log of its steps."""

    def __init__(self, worker: Worker | None = None) -> None:
        self.store = MemoryMetadata()
        self.writer = MetadataWriter(self.store, worker or InlineWorker())
        self.done: list[str] = []

    async def make(self, *changes: ZNodeChange) -> None:
        async with self.writer.change() as change:
            self.done.append("begun")
            await change.store(lambda _: changes)
            self.done.append("kept")


def test_change_continues_after_it_is_stored() -> None:
    harness = WriterHarness()

    asyncio.run(harness.make(CreateZNode("/a")))

    assert harness.store.children("/") == ["a"]
    assert harness.done == ["begun", "kept"]


def test_change_may_read_the_store() -> None:
    harness = WriterHarness()
    harness.store.multi([CreateZNode("/a")])

    def changes(store: MetadataStore) -> list[DeleteZNode]:
        return [DeleteZNode(f"/{name}") for name in store.children("/")]

    async def scene() -> None:
        async with harness.writer.change() as change:
            await change.store(changes)

    asyncio.run(scene())

    assert harness.store.children("/") == []


def test_change_that_is_not_stored_is_not_applied() -> None:
    harness = WriterHarness()

    with pytest.raises(MetadataConflictError):
        asyncio.run(harness.make(DeleteZNode("/a")))

    assert harness.done == ["begun"]


def test_change_that_fails_later_is_not_applied() -> None:
    worker = HeldWorker()
    harness = WriterHarness(worker)

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(worker.go_on)
        await harness.make(DeleteZNode("/a"))

    with pytest.raises(MetadataConflictError):
        asyncio.run(scene())

    assert harness.done == ["begun"]


def test_other_tasks_run_while_a_change_yields() -> None:
    harness = WriterHarness()

    async def scene() -> None:
        async with harness.writer.change() as change:
            asyncio.get_running_loop().call_soon(harness.done.append, "another")
            await change.yield_turn()
            harness.done.append("breathed")

    asyncio.run(scene())

    assert harness.done == ["another", "breathed"]


def test_changes_are_serialized() -> None:
    worker = HeldWorker()
    harness = WriterHarness(worker)

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(harness.make(CreateZNode("/a")))
            group.create_task(harness.make(CreateZNode("/a/b")))
            while len(harness.done) < 4:
                await asyncio.to_thread(worker.go_on)

    asyncio.run(scene())

    assert harness.done == ["begun", "kept", "begun", "kept"]


def test_change_is_completed_after_its_caller_is_cancelled() -> None:
    worker = HeldWorker()
    harness = WriterHarness(worker)

    async def scene() -> None:
        task = asyncio.ensure_future(harness.make(CreateZNode("/a")))
        loop = asyncio.get_running_loop()
        loop.call_soon(task.cancel)
        loop.call_soon(lambda: loop.call_soon(worker.go_on))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scene())

    assert harness.done == ["begun", "kept"]


def test_yielding_change_is_completed_after_its_caller_is_cancelled() -> None:
    harness = WriterHarness()

    async def scene() -> None:
        async with harness.writer.change() as change:
            await change.yield_turn()
            harness.done.append("done")

    async def cancelled() -> None:
        task = asyncio.ensure_future(scene())
        asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert harness.done == ["done"]

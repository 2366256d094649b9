"""Changes of the metadata are kept, then done, one after the other."""

import asyncio

import pytest

from cordwood.broker.metadata_writer import MetadataWriter
from cordwood.core.errors import MetadataConflictError
from cordwood.core.nodes import CreateNode, DeleteNode, NodeChange
from cordwood.core.ports import MetadataStore, Worker
from cordwood.testing.metadata import MemoryMetadata
from cordwood.testing.worker import InlineWorker
from tests.unit.storage.manager_samples import HeldWorker


class Desk:
    """A writer, and what was done in which order."""

    def __init__(self, worker: Worker | None = None) -> None:
        self.store = MemoryMetadata()
        self.writer = MetadataWriter(self.store, worker or InlineWorker())
        self.done: list[str] = []

    async def make(self, *changes: NodeChange) -> None:
        async with self.writer.change() as change:
            self.done.append("begun")
            await change.keep(lambda _: changes)
            self.done.append("kept")


def test_change_goes_on_once_it_is_kept() -> None:
    desk = Desk()

    asyncio.run(desk.make(CreateNode("/a")))

    assert desk.store.children("/") == ["a"]
    assert desk.done == ["begun", "kept"]


def test_change_may_depend_on_what_the_store_has() -> None:
    desk = Desk()
    desk.store.multi([CreateNode("/a")])

    def changes(store: MetadataStore) -> list[DeleteNode]:
        return [DeleteNode(f"/{name}") for name in store.children("/")]

    async def scene() -> None:
        async with desk.writer.change() as change:
            await change.keep(changes)

    asyncio.run(scene())

    assert desk.store.children("/") == []


def test_change_that_is_not_kept_goes_no_further() -> None:
    desk = Desk()

    with pytest.raises(MetadataConflictError):
        asyncio.run(desk.make(DeleteNode("/a")))

    assert desk.done == ["begun"]


def test_change_that_fails_a_while_later_goes_no_further() -> None:
    worker = HeldWorker()
    desk = Desk(worker)

    async def scene() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(worker.go_on)
        await desk.make(DeleteNode("/a"))

    with pytest.raises(MetadataConflictError):
        asyncio.run(scene())

    assert desk.done == ["begun"]


def test_others_have_their_turn_while_a_change_breathes() -> None:
    desk = Desk()

    async def scene() -> None:
        async with desk.writer.change() as change:
            asyncio.get_running_loop().call_soon(desk.done.append, "another")
            await change.breathe()
            desk.done.append("breathed")

    asyncio.run(scene())

    assert desk.done == ["another", "breathed"]


def test_change_waits_for_the_one_before() -> None:
    worker = HeldWorker()
    desk = Desk(worker)

    async def scene() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(desk.make(CreateNode("/a")))
            group.create_task(desk.make(CreateNode("/a/b")))
            while len(desk.done) < 4:
                await asyncio.to_thread(worker.go_on)

    asyncio.run(scene())

    assert desk.done == ["begun", "kept", "begun", "kept"]


def test_change_is_done_whole_even_if_its_asker_has_gone() -> None:
    worker = HeldWorker()
    desk = Desk(worker)

    async def scene() -> None:
        task = asyncio.ensure_future(desk.make(CreateNode("/a")))
        loop = asyncio.get_running_loop()
        loop.call_soon(task.cancel)
        loop.call_soon(lambda: loop.call_soon(worker.go_on))
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scene())

    assert desk.done == ["begun", "kept"]


def test_change_that_breathes_is_done_whole_too() -> None:
    desk = Desk()

    async def scene() -> None:
        async with desk.writer.change() as change:
            await change.breathe()
            desk.done.append("done")

    async def cancelled() -> None:
        task = asyncio.ensure_future(scene())
        asyncio.get_running_loop().call_soon(task.cancel)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert desk.done == ["done"]

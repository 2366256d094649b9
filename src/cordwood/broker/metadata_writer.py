"""Changes of the metadata, one after the other: decided on the loop, kept on the worker, then done.

    async with writer.change() as change:      from here on nobody else changes anything
        ...                                    what is decided here still holds when it is kept
        await change.keep(...)                 in the store, durably, or it raises
        ...                                    what follows from it

Who is cancelled in the middle hears of it at the end: what has begun is done whole, so that the
store and what the broker does never part.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias, TypeVar

from cordwood.broker.waiting import done
from cordwood.core.nodes import NodeChange
from cordwood.core.ports import MetadataStore, Worker

T = TypeVar("T")

Changes: TypeAlias = Callable[[MetadataStore], Sequence[NodeChange]]
"""Says what is to be changed, on the worker; it may look at what the store has."""


class Change:
    """The one change that is under way."""

    def __init__(self, store: MetadataStore, worker: Worker) -> None:
        self._store = store
        self._worker = worker
        self.cancellation: asyncio.CancelledError | None = None

    async def keep(self, changes: Changes) -> None:
        """Keep changes in the store; whatever it raises, they may not be done."""
        store = self._store
        await self.blocking(lambda: store.multi(changes(store)))

    async def blocking(self, call: Callable[[], T]) -> T:
        """Make a call that blocks, on the worker; the loop goes on meanwhile."""
        pending = self._worker.submit(call)
        while not pending.done():
            try:
                await done(pending)
            except asyncio.CancelledError as error:
                self.cancellation = error
            except Exception:  # noqa: BLE001 - it comes out of `result`
                break
        return pending.result()

    async def breathe(self) -> None:
        """Let the loop have its turn, amid much that has to be done on it."""
        turn = asyncio.Event()
        asyncio.get_running_loop().call_soon(turn.set)
        try:
            await turn.wait()
        except asyncio.CancelledError as error:
            self.cancellation = error


class MetadataWriter:
    """The one who changes the metadata of this broker."""

    def __init__(self, store: MetadataStore, worker: Worker) -> None:
        self._store = store
        self._worker = worker
        self._turn = asyncio.Lock()

    @property
    def is_changing(self) -> bool:
        """Whether a change is under way."""
        return self._turn.locked()

    @asynccontextmanager
    async def change(self) -> AsyncIterator[Change]:
        """Wait for all changes before, then begin one."""
        async with self._turn:
            change = Change(self._store, self._worker)
            try:
                yield change
            finally:
                if change.cancellation is not None:
                    raise change.cancellation

"""Single writer of the metadata: decide on the loop, store on the worker, then apply.

    async with writer.change() as change:      excludes every other change
        ...                                    a decision made here still holds when it is stored
        await change.store(...)                durable on return, or it raises
        ...                                    apply the change

A change holds the writer only while it decides, stores and applies: longer work, such as the
creation of logs, comes after it, and what that work has found is applied by another change.

A cancellation in the middle is raised at the end of the block. A change that has begun is
completed, so that the store and the broker's state never differ.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias, TypeVar

from cordwood.broker.pending_results import next_turn, wait_for
from cordwood.core.ports import Lane, MetadataStore, Worker
from cordwood.core.znodes import ZNodeChange

T = TypeVar("T")

Changes: TypeAlias = Callable[[MetadataStore], Sequence[ZNodeChange]]
"""Returns the changes to store; called on the worker, where it may read the store."""


class MetadataChange:
    """The change in progress; there is one at a time."""

    def __init__(self, store: MetadataStore, worker: Worker) -> None:
        self._store = store
        self._worker = worker
        self.cancellation: asyncio.CancelledError | None = None

    async def store(self, changes: Changes) -> None:
        """Store changes durably; after an error the caller must not apply them."""
        store = self._store
        await self.run_blocking(lambda: store.multi(changes(store)))

    async def run_blocking(self, call: Callable[[], T]) -> T:
        """Run a blocking call on the worker and return its result."""
        pending = self._worker.submit(call, lane=Lane.METADATA)
        # A cancellation does not stop the call, so the wait goes on until the call has ended.
        while not pending.done():
            try:
                await wait_for(pending)
            except asyncio.CancelledError as error:
                self.cancellation = error
            except Exception:  # noqa: BLE001 - the result is raised below
                break
        return pending.result()

    async def yield_turn(self) -> None:
        """Give other tasks a turn of the loop."""
        try:
            await next_turn()
        except asyncio.CancelledError as error:
            self.cancellation = error


class MetadataWriter:
    """Runs the changes of this broker's metadata one at a time."""

    def __init__(self, store: MetadataStore, worker: Worker) -> None:
        self._store = store
        self._worker = worker
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def change(self) -> AsyncIterator[MetadataChange]:
        """Wait for all earlier changes, then begin one."""
        async with self._turn:
            change = MetadataChange(self._store, self._worker)
            try:
                yield change
            finally:
                if change.cancellation is not None:
                    raise change.cancellation

"""Record checks of produced batches: in plain Python until the kernels are loaded.

Kernels take a second to load and a hundred megabytes of memory. They are loaded on the worker, and
only after the first batch, so that a broker without producers stays small.
"""

import asyncio
from collections.abc import Callable

from cordwood.core.ports import Worker
from cordwood.records.record_checks import Inspector, PlainInspector


class LazyInspector:
    """Holds the current inspector, and loads the one offered. Used on the loop's thread."""

    __slots__ = ("_current", "_load", "_worker")

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._current: Inspector = PlainInspector()
        self._load: Callable[[], Inspector] | None = None

    def offer(self, load: Callable[[], Inspector]) -> None:
        """Set the function that loads a faster inspector; the first batch calls it."""
        self._load = load

    def get(self) -> Inspector:
        """Return the inspector for the current batch, and begin to load the offered one."""
        if self._load is not None:
            self._begin_load(self._load)
            self._load = None
        return self._current

    def _begin_load(self, load: Callable[[], Inspector]) -> None:
        call_soon = asyncio.get_running_loop().call_soon_threadsafe
        pending = self._worker.submit(load)

        def adopt() -> None:
            self._current = pending.result()

        pending.add_done_callback(lambda _: call_soon(adopt))

"""Record checks of produced batches: in plain Python until the kernels are loaded.

Kernels take a second to load and a hundred megabytes of memory. They are loaded on the worker, and
only after the first batch, so that a broker without producers stays small. The worker also makes
the first call, which imports and links for 30 ms.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

from cordwood.core.ports import Lane, Worker
from cordwood.observability.logs import fields
from cordwood.records.batch_builder import BatchBuilder
from cordwood.records.batch_stream import batches
from cordwood.records.record_checks import Inspector, PlainInspector

_log = logging.getLogger(__name__)


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
        pending = self._worker.submit(partial(_used, load), lane=Lane.BACKGROUND)

        def adopt() -> None:
            self._current = pending.result()
            _log.info("kernels", extra=fields(what="loaded"))

        pending.add_done_callback(lambda _: call_soon(adopt))


def _used(load: Callable[[], Inspector]) -> Inspector:
    """Load an inspector and inspect a batch with it."""
    inspector, builder = load(), BatchBuilder()
    builder.append(b"key", b"value", timestamp=0)
    for batch in batches(builder.build()):
        inspector.inspect(batch)
    return inspector

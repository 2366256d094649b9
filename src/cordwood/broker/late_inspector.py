"""What reads the records of producers through: plainly, until there is something better to load.

Kernels take a second to load and a hundred megabytes to keep. So they are loaded on the worker,
and not before a first batch has come: a broker that nobody produces to stays small.
"""

import asyncio
from collections.abc import Callable

from cordwood.core.ports import Worker
from cordwood.records.inspect import Inspector, PlainInspector


class LateInspector:
    """Says which inspector is to be used now. Belongs to the loop's thread."""

    __slots__ = ("_load", "_now", "_worker")

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._now: Inspector = PlainInspector()
        self._load: Callable[[], Inspector] | None = None

    def offer(self, load: Callable[[], Inspector]) -> None:
        """Let this be called on the worker once there is a batch; what it returns is used then."""
        self._load = load

    def now(self) -> Inspector:
        """Return the one to be used for the batch that is at hand."""
        if self._load is not None:
            self._begin(self._load)
            self._load = None
        return self._now

    def _begin(self, load: Callable[[], Inspector]) -> None:
        call_soon = asyncio.get_running_loop().call_soon_threadsafe
        pending = self._worker.submit(load)

        def adopt() -> None:
            self._now = pending.result()

        pending.add_done_callback(lambda _: call_soon(adopt))

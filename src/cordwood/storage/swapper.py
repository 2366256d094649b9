"""Puts .cleaned segments into logs, one replacement after the other, and keeps nobody waiting.

What waits for the disk runs on the worker; the owner's steps are made between its jobs. Whoever
changes a log meanwhile brings the replacement at work to its end, and the next one is refused if
the log is another one then.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from cordwood.core.errors import CordwoodError, KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.log import Log
from cordwood.storage.manager import LogManager
from cordwood.storage.replacing import Replacement, Swap
from cordwood.storage.waiting import settle


@dataclass(slots=True, eq=False)
class _Run:
    """What is left to be done to a log, and what is done when nothing is."""

    log: Log
    replacements: Iterator[Replacement]
    swap: Swap | None = None
    done: Future[None] = field(default_factory=Future)


class Swapper:
    """Drives the replacements of a manager's logs, with its tools."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager

    def swap(self, log: Log, replacements: Sequence[Replacement]) -> Pending[None]:
        """Return what is done when all are in, in their order.

        SwapRefusedError or KafkaStorageError if the log has changed, or gone: then those that come
        first may be in, each as a whole.
        """
        run = _Run(log, iter(replacements))
        self._go_on(run)
        return run.done

    def _go_on(self, run: _Run) -> None:
        """Begin job after job, and come back when one has to be waited for."""
        call_soon = self._manager.tools.call_soon
        try:
            while (job := self._next_job(run)) is not None:
                if not job.done():
                    job.add_done_callback(lambda _: call_soon(lambda: self._go_on(run)))
                    return
        except CordwoodError as error:
            settle([run.done], error)
        else:
            settle([run.done])

    def _next_job(self, run: _Run) -> Pending[None] | None:
        """Begin the next job, of the next replacement if need be; None when all is done."""
        manager, log = self._manager, run.log
        if not manager.has(log):
            raise KafkaStorageError(f"the log of {log.partition} is offline or deleted")
        with manager.using(log):
            while True:
                if run.swap is None:
                    replacement = next(run.replacements, None)
                    if replacement is None:
                        return None
                    run.swap = log.begin_replacing(replacement)
                job = run.swap.go_on(manager.tools.worker.submit)
                if job is not None:
                    return job
                run.swap = None

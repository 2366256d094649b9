"""Puts .cleaned segments into logs, one replacement after the other, and keeps nobody waiting.

What waits for the disk runs on the worker; the owner's steps are made between its jobs. Whoever
changes a log meanwhile brings the replacement at work to its end, and the next one is refused if
the log is another one then.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

from cordwood.core.errors import CordwoodError, KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.log import Log
from cordwood.storage.manager import LogManager
from cordwood.storage.replacing import Replacement, Submit
from cordwood.storage.waiting import settle


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """What is left to be done to a log, begun one by one, and what is done when nothing is left."""

    log: Log
    jobs: Iterator[Pending[None]]
    done: Future[None] = field(default_factory=Future)


class Swapper:
    """Drives the replacements of a manager's logs, with its tools."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager

    def swap(self, log: Log, replacements: Iterable[Replacement]) -> Pending[None]:
        """Return what is done when all are in, in their order.

        SwapRefusedError or KafkaStorageError if the log has changed, or gone: then those that come
        first may be in, each as a whole.
        """
        run = _Run(log, _jobs(log, replacements, submit=self._manager.tools.worker.submit))
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
        if not self._manager.has(run.log):
            raise KafkaStorageError(f"the log of {run.log.partition} is offline or deleted")
        with self._manager.using(run.log):
            return next(run.jobs, None)


def _jobs(
    log: Log, replacements: Iterable[Replacement], *, submit: Submit
) -> Iterator[Pending[None]]:
    """Yield each job that has begun; the one before has ended when the next is asked for."""
    for replacement in replacements:
        swap = log.begin_replacing(replacement)
        while (job := swap.go_on(submit)) is not None:
            yield job

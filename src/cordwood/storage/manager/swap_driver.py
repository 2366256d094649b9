"""Driver of segment swaps: puts `.cleaned` segments into logs, one replacement after the other.

Jobs that wait for the disk run on the worker; the steps that change the log run between them, on
the owner's thread. Any other change of the log finishes the running replacement first. The next
replacement is then rejected if it no longer fits the log. Every error, also an unexpected one, ends
the swap and is its result.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.log.log import Log
from cordwood.storage.log.segment_swap import SegmentReplacement, Submit
from cordwood.storage.manager.future_completion import complete_all
from cordwood.storage.manager.log_manager import LogManager


@dataclass(frozen=True, slots=True, eq=False)
class _QueuedSwaps:
    """The remaining jobs on one log, started one by one, and the future for the end of all."""

    log: Log
    jobs: Iterator[Pending[None]]
    done: Future[None] = field(default_factory=Future)


class SwapDriver:
    """Drives the replacements of a manager's logs."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager

    def swap(self, log: Log, replacements: Iterable[SegmentReplacement]) -> Pending[None]:
        """Start the replacements in their order; the result is done when all are complete.

        Its error is SwapRefusedError or KafkaStorageError if the log has changed or was deleted.
        The first replacements may then be complete, each of them as a whole.
        """
        jobs = _jobs(log, replacements, submit=self._manager.ports.worker.submit)
        queued = _QueuedSwaps(log, jobs)
        self._advance(queued)
        return queued.done

    def _advance(self, queued: _QueuedSwaps) -> None:
        """Start job after job; return while one is running, and continue in its callback."""
        call_soon = self._manager.options.call_soon
        try:
            while (job := self._next_job(queued)) is not None:
                if not job.done():
                    job.add_done_callback(lambda _: call_soon(lambda: self._advance(queued)))
                    return
        except Exception as error:  # noqa: BLE001 - the future carries it
            complete_all([queued.done], error)
        else:
            complete_all([queued.done])

    def _next_job(self, queued: _QueuedSwaps) -> Pending[None] | None:
        """Start the next job, of the next replacement if necessary; None when all are done."""
        if not self._manager.has(queued.log):
            raise KafkaStorageError(f"{queued.log.partition}: the log is offline or deleted")
        with self._manager.using(queued.log):
            return next(queued.jobs, None)


def _jobs(
    log: Log, replacements: Iterable[SegmentReplacement], *, submit: Submit
) -> Iterator[Pending[None]]:
    """Yield each started job; the caller asks for the next one only after the job has ended."""
    for replacement in replacements:
        swap = log.begin_swap(replacement)
        while (job := swap.advance(submit)) is not None:
            yield job

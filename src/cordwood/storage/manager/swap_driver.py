"""Driver of segment swaps: puts `.cleaned` segments into logs, one replacement after the other.

Any other change of the log finishes the running replacement first. The next replacement is then
rejected if it no longer fits the log.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.storage.log.log import Log
from cordwood.storage.log.segment_swap import SegmentReplacement
from cordwood.storage.log.stepped_change import Submit
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.step_driver import drive


class SwapDriver:
    """Drives the replacements of a manager's logs."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager

    def swap(self, log: Log, replacements: Iterable[SegmentReplacement]) -> Pending[None]:
        """Start the replacements in their order; the result is done when all are complete.

        Its error is SwapRefusedError or KafkaStorageError if the log has changed or was deleted.
        The first replacements may then be complete, each of them as a whole.
        """
        submit = partial(self._manager.ports.worker.submit, lane=Lane.BACKGROUND)
        jobs = _jobs(log, replacements, submit=submit)
        return drive(lambda: self._next_job(log, jobs), call_soon=self._manager.options.call_soon)

    def _next_job(self, log: Log, jobs: Iterator[Pending[None]]) -> Pending[None] | None:
        """Start the next job, of the next replacement if necessary; None when all are done."""
        if not self._manager.has(log):
            raise KafkaStorageError(f"{log.partition}: the log is offline or deleted")
        with self._manager.using(log):
            return next(jobs, None)


def _jobs(
    log: Log, replacements: Iterable[SegmentReplacement], *, submit: Submit
) -> Iterator[Pending[None]]:
    """Yield each started job; the caller asks for the next one only after the job has ended."""
    for replacement in replacements:
        swap = log.begin_swap(replacement)
        while (job := swap.advance(submit)) is not None:
            yield job

"""Driver of changes in steps: a job on the worker, a step on the owner's thread, the next job.

Every error, also an unexpected one, ends the change and is its result.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeAlias

from cordwood.core.ports import Pending
from cordwood.storage.manager.future_completion import complete_all

#: Makes the next step and returns its running job; None after the last one.
NextJob: TypeAlias = Callable[[], Pending[None] | None]


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """The steps that are left, and the future for the end of all."""

    next_job: NextJob
    call_soon: Callable[[Callable[[], object]], object]
    done: Future[None] = field(default_factory=Future)


def drive(
    next_job: NextJob, *, call_soon: Callable[[Callable[[], object]], object]
) -> Pending[None]:
    """Make all steps in their order; `call_soon` runs a call on the owner's thread.

    A step is made only after the job before it has ended. The first one is made at once.
    """
    change = _Change(next_job, call_soon)
    _advance(change)
    return change.done


def _advance(change: _Change) -> None:
    """Start job after job; return while one is running, and continue in its callback."""
    try:
        while (job := change.next_job()) is not None:
            if not job.done():
                job.add_done_callback(lambda _: change.call_soon(lambda: _advance(change)))
                return
    except Exception as error:  # noqa: BLE001 - the future carries it
        complete_all([change.done], error)
    else:
        complete_all([change.done])

"""The worker side of a `ProcessRunner`: runs one pass after the other, as the pipe requests.

    received   a rate in bytes a second; a job; None: stop the pass
    sent       the result of the job: a CleaningResult, or the error that ended it

One thread receives, so that a stop reaches a running pass. Another thread runs the passes, and the
worker reads ahead for it. A closed pipe ends the process at once, in the middle of a pass too: its
files do not count before its answer.
"""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from cordwood.compaction.cleaner_config import UNLIMITED
from cordwood.compaction.cleaning_job import CleaningFailedError, CleaningJob, CleaningResult
from cordwood.compaction.kernels import engine
from cordwood.compaction.passes.cleaning_pass import run_pass
from cordwood.compaction.runner.throttler import Throttler
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Clock, Files, Worker

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: The process ends after this long without a job.
IDLE_SECONDS: Final = 60.0
Jobs: TypeAlias = "queue.SimpleQueue[CleaningJob]"


def serve(
    pipe: "Connection",
    files: Files,
    *,
    clock: Clock,
    worker: Worker,
    on_disconnect: Callable[[], object],
    idle_seconds: float = IDLE_SECONDS,
) -> None:
    """Run the jobs from the pipe, until none has come for `idle_seconds`.

    `worker` reads ahead. A thread calls `on_disconnect` when the pipe is closed.
    """
    control, jobs = _WorkerControl(clock), queue.SimpleQueue[CleaningJob]()

    def receive() -> None:
        _receive(pipe, control, jobs)
        on_disconnect()

    threading.Thread(target=receive, daemon=True).start()
    while True:
        try:
            job = jobs.get(timeout=idle_seconds)
        except queue.Empty:
            return
        pipe.send(_run(job, files, control=control, worker=worker))


class _WorkerControl:
    """The control of the running pass; the receiving thread sets it."""

    def __init__(self, clock: Clock) -> None:
        self.stop = threading.Event()
        self.throttler = Throttler(UNLIMITED, clock, self.stop.wait)

    def is_stopped(self) -> bool:
        return self.stop.is_set()

    def expect(self, count: int) -> None:
        """Do nothing: the broker does not track the progress of a pass."""

    def on_bytes(self, count: int) -> None:
        self.throttler.throttle(count)


def _receive(pipe: "Connection", control: _WorkerControl, jobs: Jobs) -> None:
    """Handle messages until the pipe is closed."""
    with suppress(EOFError, OSError):
        while True:
            message = pipe.recv()
            if isinstance(message, CleaningJob):
                control.stop.clear()
                jobs.put(message)
            elif message is None:
                control.stop.set()
            else:
                control.throttler.set_rate(message)


def _run(
    job: CleaningJob, files: Files, *, control: _WorkerControl, worker: Worker
) -> CleaningResult | CordwoodError:
    """Return the result of a job, or its error."""
    try:
        return run_pass(job, files, engine=engine(job.plan.size), control=control, worker=worker)
    except CordwoodError as error:
        return error
    except Exception as error:  # noqa: BLE001 - the process is ours; the broker reports the error
        return CleaningFailedError(f"{job.directory}: {error!r}")

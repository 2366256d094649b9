"""What runs passes for a `ProcessRunner`, at the other end of a line: one after the other.

    from the line   how many bytes a second; a job; None: stop
    to the line     what the job has come to: a Cleaning, or the error that it has ended in

One thread listens, so that a stop is heard in the middle of a pass; another works, and the worker
reads for it. The line's end is the end of the process, whatever it does: what it has written counts
for nothing until it has answered.
"""

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from cordwood.compaction.cleaner_settings import UNLIMITED
from cordwood.compaction.job import Cleaning, CleaningFailedError, CleaningJob
from cordwood.compaction.kernels import engine
from cordwood.compaction.pacing import Pace
from cordwood.compaction.passes import run_pass
from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Clock, Files, Worker

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: After so long without a job it ends.
IDLE_SECONDS: Final = 60.0
Jobs: TypeAlias = "queue.SimpleQueue[CleaningJob]"


class Ground(NamedTuple):
    """What passes stand on; `worker` reads ahead. `end` is the end of it all, from any thread."""

    files: Files
    clock: Clock
    worker: Worker
    end: Callable[[], object]


def serve(line: "Connection", ground: Ground, *, idle_seconds: float = IDLE_SECONDS) -> None:
    """Do the jobs that come over the line, until there is none for a while."""
    control, jobs = _Control(ground.clock), queue.SimpleQueue[CleaningJob]()

    def hear() -> None:
        _listen(line, control, jobs)
        ground.end()

    threading.Thread(target=hear, daemon=True).start()
    while True:
        try:
            job = jobs.get(timeout=idle_seconds)
        except queue.Empty:
            return
        line.send(_outcome(job, ground, control=control))


class _Control:
    """What a pass asks, told by the line."""

    def __init__(self, clock: Clock) -> None:
        self.stop = threading.Event()
        self.pace = Pace(UNLIMITED, clock, self.stop.wait)

    def is_stopped(self) -> bool:
        return self.stop.is_set()

    def expect(self, count: int) -> None:
        """Tell nobody: the broker does not ask how far a pass is."""

    def on_bytes(self, count: int) -> None:
        self.pace.spend(count)


def _listen(line: "Connection", control: _Control, jobs: Jobs) -> None:
    """Take what is said until the line is cut."""
    with suppress(EOFError, OSError):
        while True:
            said = line.recv()
            if isinstance(said, CleaningJob):
                control.stop.clear()
                jobs.put(said)
            elif said is None:
                control.stop.set()
            else:
                control.pace.change(said)


def _outcome(job: CleaningJob, ground: Ground, *, control: _Control) -> Cleaning | CordwoodError:
    size = job.plan.size
    try:
        return run_pass(
            job, ground.files, engine=engine(size), control=control, worker=ground.worker
        )
    except CordwoodError as error:
        return error
    except Exception as error:  # noqa: BLE001 - the process is ours; who asked has to hear of it
        return CleaningFailedError(f"{job.directory}: {error!r}")

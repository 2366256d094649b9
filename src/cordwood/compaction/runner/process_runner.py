"""Passes in separate processes, so that they take no processor time or memory of the broker.

A pass starts a process by its command line, so it inherits no memory of the broker. After the pass
the process waits for the next one, and ends by itself after an idle minute. When the broker ends,
even by SIGKILL, the pipe is closed, and the process ends at once. If a process dies, only its pass
fails. `worker_process` is the other side, and defines the messages.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from cordwood.compaction.cleaner_config import UNLIMITED
from cordwood.compaction.cleaning_job import (
    CleaningFailedError,
    CleaningJob,
    CleaningResult,
    CleaningStoppedError,
    PassControl,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: The delay of a stop or a new rate, at most.
_POLL_SECONDS: Final = 0.05
#: Polls that a stopped process is given before it is killed.
_GRACE_POLLS: Final = 100
_MODULE: Final = "cordwood.compaction"

#: Returns the present rate of one pass, in bytes a second.
RateShare: TypeAlias = Callable[[], float]


class ProcessRunner:
    """A pool of processes, as many as there were concurrent passes; it is thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: set[_WorkerProcess] = set()
        self._busy: set[_WorkerProcess] = set()
        self._bytes_per_second = UNLIMITED

    @property
    def process_ids(self) -> frozenset[int]:
        """The ids of all processes, busy or idle."""
        with self._lock:
            return frozenset(each.process_id for each in self._idle | self._busy)

    def run(self, job: CleaningJob, control: PassControl) -> CleaningResult:
        process = self._take()
        try:
            answer = process.run(job, control, share=self._share)
        finally:
            self._release(process)
        if isinstance(answer, CleaningResult):
            return answer
        raise answer

    def limit(self, bytes_per_second: float) -> None:
        self._bytes_per_second = bytes_per_second

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, set()
        for process in idle:
            process.end()

    def _share(self) -> float:
        return self._bytes_per_second / max(1, len(self._busy))

    def _take(self) -> "_WorkerProcess":
        """Return an idle process, or a new one; reap those that have ended by themselves."""
        with self._lock:
            gone = {each for each in self._idle if not each.is_waiting()}
            self._idle -= gone
            process = self._idle.pop() if self._idle else _WorkerProcess.start()
            self._busy.add(process)
        for each in gone:
            each.end()
        return process

    def _release(self, process: "_WorkerProcess") -> None:
        with self._lock:
            self._busy.discard(process)
            if process.is_waiting():
                self._idle.add(process)
                return
        process.end()


class _WorkerProcess:
    """One process, and the pipe to it."""

    def __init__(self, popen: subprocess.Popen[bytes], pipe: "Connection") -> None:
        self._popen = popen
        self._pipe = pipe
        self._is_stopped = False

    @classmethod
    def start(cls) -> Self:
        from multiprocessing import Pipe  # noqa: PLC0415  # an idle broker does not import it

        ours, theirs = Pipe()
        command = [sys.executable, "-m", _MODULE, str(theirs.fileno())]
        try:
            popen = subprocess.Popen(command, pass_fds=[theirs.fileno()])  # noqa: S603  # our own module
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(popen, ours)

    @property
    def process_id(self) -> int:
        return self._popen.pid

    def is_waiting(self) -> bool:
        """Whether the process can take a job."""
        return not self._pipe.closed and self._popen.poll() is None

    def run(
        self, job: CleaningJob, control: PassControl, *, share: RateShare
    ) -> CleaningResult | Exception:
        """Return the result of a job, or its error."""
        try:
            return self._run(job, control, share)
        except (EOFError, OSError):
            status = self.end()
            if self._is_stopped:
                return CleaningStoppedError(f"{job.directory}: cleaning was stopped")
            return CleaningFailedError(
                f"{job.directory}: the process of the pass {_exit_text(status)}"
            )

    def end(self) -> int:
        """Close the pipe, wait for the process, kill it after the grace time; return its status."""
        self._pipe.close()
        try:
            return self._popen.wait(_POLL_SECONDS * _GRACE_POLLS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            return self._popen.wait()

    def _run(
        self, job: CleaningJob, control: PassControl, share: RateShare
    ) -> CleaningResult | Exception:
        rate, polls = share(), 0
        self._pipe.send(rate)
        self._pipe.send(job)
        while not self._pipe.poll(_POLL_SECONDS):
            if control.is_stopped():
                self._stop(polls)
                polls += 1
            if share() != rate:
                rate = share()
                self._pipe.send(rate)
        answer: CleaningResult | Exception = self._pipe.recv()
        return answer

    def _stop(self, polls: int) -> None:
        """Send a stop at the first poll, and kill the process after the grace time."""
        if polls == 0:
            self._pipe.send(None)
        elif polls == _GRACE_POLLS:
            self._is_stopped = True
            self._popen.kill()


def _exit_text(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"

"""Passes in processes of their own, so that a broker keeps its processor and its memory.

A process is started when a pass needs one, by its command line: nothing of the broker is copied.
Between passes it waits for the next one, and after a while it ends by itself. When the broker
ends, be it killed, the line between them is cut, and the process ends at once. One that dies has
failed its pass and nothing else. `process` is the other side, and says what goes over the line.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from cordwood.compaction.cleaner_settings import UNLIMITED
from cordwood.compaction.job import Cleaning, CleaningFailedError, CleaningJob, PassControl

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

#: How soon a process hears that it is to stop, or to go slower.
_EVERY_SECONDS: Final = 0.05
#: So many turns later it is ended.
_GRACE_TURNS: Final = 100
_MODULE: Final = "cordwood.compaction"

#: How many bytes a second one pass may read and write, now.
Share: TypeAlias = Callable[[], float]


class ProcessRunner:
    """Keeps as many processes as there were passes at a time; any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: set[_Process] = set()
        self._busy: set[_Process] = set()
        self._bytes_per_second = UNLIMITED

    @property
    def process_ids(self) -> frozenset[int]:
        """Those of the processes that there are, at work or not."""
        with self._lock:
            return frozenset(each.process_id for each in self._idle | self._busy)

    def run(self, job: CleaningJob, control: PassControl) -> Cleaning:
        process = self._take()
        try:
            answer = process.run(job, control, share=self._share)
        finally:
            self._give_back(process)
        if isinstance(answer, Cleaning):
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

    def _take(self) -> "_Process":
        """Return a process that waits for work; those that have ended by themselves are let go."""
        with self._lock:
            gone = {each for each in self._idle if not each.is_waiting()}
            self._idle -= gone
            process = self._idle.pop() if self._idle else _Process.start()
            self._busy.add(process)
        for each in gone:
            each.end()
        return process

    def _give_back(self, process: "_Process") -> None:
        with self._lock:
            self._busy.discard(process)
            if process.is_waiting():
                self._idle.add(process)
                return
        process.end()


class _Process:
    """One process and the line to it."""

    def __init__(self, popen: subprocess.Popen[bytes], line: "Connection") -> None:
        self._popen = popen
        self._line = line

    @classmethod
    def start(cls) -> Self:
        from multiprocessing import Pipe  # noqa: PLC0415  # an idle broker does without

        ours, its = Pipe()
        command = [sys.executable, "-m", _MODULE, str(its.fileno())]
        try:
            popen = subprocess.Popen(command, pass_fds=[its.fileno()])  # noqa: S603  # ourselves
        except OSError:
            ours.close()
            raise
        finally:
            its.close()
        return cls(popen, ours)

    @property
    def process_id(self) -> int:
        return self._popen.pid

    def is_waiting(self) -> bool:
        """Whether it may be given a job."""
        return not self._line.closed and self._popen.poll() is None

    def run(self, job: CleaningJob, control: PassControl, *, share: Share) -> Cleaning | Exception:
        """Return what the job has come to, whatever that is."""
        try:
            return self._run(job, control, share)
        except (EOFError, OSError):
            status = self.end()
            return CleaningFailedError(f"{job.directory}: the process of the pass {_ended(status)}")

    def end(self) -> int:
        """Cut the line, and wait for its end, not for long; return its status."""
        self._line.close()
        try:
            return self._popen.wait(_EVERY_SECONDS * _GRACE_TURNS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            return self._popen.wait()

    def _run(self, job: CleaningJob, control: PassControl, share: Share) -> Cleaning | Exception:
        said, turns = share(), 0
        self._line.send(said)
        self._line.send(job)
        while not self._line.poll(_EVERY_SECONDS):
            if control.is_stopped():
                self._stop(turns)
                turns += 1
            if share() != said:
                said = share()
                self._line.send(said)
        answer: Cleaning | Exception = self._line.recv()
        return answer

    def _stop(self, turns: int) -> None:
        """Ask it to stop the first time, and end it when it has not heard for long."""
        if turns == 0:
            self._line.send(None)
        elif turns == _GRACE_TURNS:
            self._popen.kill()


def _ended(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"has ended with {status}"

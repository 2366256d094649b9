"""Flushes logs on the worker, so that whoever appends does not wait for a disk.

Of one log one job runs at a time. Who asks meanwhile waits for the next job, which covers all of
them: the more ask, the more each sync is worth. A log that was cut or moved while its job ran is
flushed again, for the job may have synced what is not there any more. When a sync fails, or finds
no space, what was written is in doubt: the log's directory goes offline, and those who wait hear
of it as KafkaStorageError.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.flushing import FlushJob
from cordwood.storage.log import Log
from cordwood.storage.manager import LogManager
from cordwood.storage.waiting import settle


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """A job on the worker, and those who wait for it."""

    job: FlushJob
    done: Pending[None]
    waiting: list[Future[None]]
    began_ms: float


class Flusher:
    """Flushes the logs of a manager, with its tools. Close it before the manager.

    `flushed` is told of every job that has ended well how long it took, in milliseconds.
    """

    def __init__(
        self, manager: LogManager, *, flushed: Callable[[float], object] = lambda _: None
    ) -> None:
        self._manager = manager
        self._flushed = flushed
        self._running: dict[Log, _Run] = {}
        self._waiting: dict[Log, list[Future[None]]] = {}

    def flush(self, log: Log) -> Pending[None]:
        """Return what is done when all that the log has now is durable."""
        pending: Future[None] = Future()
        self._waiting.setdefault(log, []).append(pending)
        if log not in self._running:
            self._begin(log)
        return pending

    def close(self) -> None:
        """Wait for all that has been asked for."""
        while self._running:
            log, run = next(iter(self._running.items()))
            self._end(log, run)

    def _begin(self, log: Log) -> None:
        """Run a job for all who wait by now."""
        waiting = self._waiting.pop(log)
        try:
            job = self._job(log)
        except KafkaStorageError as error:
            settle(waiting, error)
            return
        if job is None:
            settle(waiting)
            return
        tools = self._manager.tools
        began_ms = tools.clock.monotonic_ms()
        run = _Run(job, tools.worker.submit(lambda: job.run(tools.files)), waiting, began_ms)
        self._running[log] = run
        run.done.add_done_callback(lambda _: tools.call_soon(lambda: self._end(log, run)))

    def _job(self, log: Log) -> FlushJob | None:
        if not self._manager.has(log):
            raise KafkaStorageError(f"the log of {log.partition} is offline or deleted")
        with self._manager.using(log):
            return log.begin_flush()

    def _end(self, log: Log, run: _Run) -> None:
        """Tell of a job that has ended, once, and begin the next one; wait if it has not."""
        if self._running.get(log) is not run:
            return
        del self._running[log]
        error = run.done.exception()
        is_about_now = _is_about(log, run.job)
        if error is not None and not (isinstance(error, FileNotFoundError) and not is_about_now):
            log.failed_flush(run.job)
            settle(run.waiting, self._manager.refuse(log, error))
        else:
            log.finish_flush(run.job)
            self._flushed(self._manager.tools.clock.monotonic_ms() - run.began_ms)
            if is_about_now:
                settle(run.waiting)
            else:
                self._waiting.setdefault(log, []).extend(run.waiting)
        if log in self._waiting:
            self._begin(log)


def _is_about(log: Log, job: FlushJob) -> bool:
    """Whether the log is still the one that the job was made for."""
    return job.directory == log.directory and job.cuts == log.bounds.cuts

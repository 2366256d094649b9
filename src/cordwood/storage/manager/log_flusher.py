"""Flushes of logs on the worker, so that appends do not wait for the disk.

One job a log runs at a time. Requests that arrive meanwhile share the next job, so one fsync serves
more requests the more there are. A log that was truncated or moved while its job ran is flushed
again, because the job may have synced files that are gone. When an fsync fails or finds no space it
is unknown which records are durable: the log directory goes offline, and the requests fail with
KafkaStorageError.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_flush import FlushJob
from cordwood.storage.manager.future_completion import complete_all
from cordwood.storage.manager.log_manager import LogManager


@dataclass(frozen=True, slots=True, eq=False)
class _RunningFlush:
    """A job on the worker, and the requests that it serves."""

    job: FlushJob
    pending: Pending[None]
    requests: list[Future[None]]
    started_ms: float


class LogFlusher:
    """Flushes the logs of a manager. Close it before the manager.

    `flushed` receives the duration of every successful job in milliseconds.
    """

    def __init__(
        self, manager: LogManager, *, flushed: Callable[[float], object] = lambda _: None
    ) -> None:
        self._manager = manager
        self._flushed = flushed
        self._running: dict[Log, _RunningFlush] = {}
        self._requests: dict[Log, list[Future[None]]] = {}

    def flush(self, log: Log) -> Pending[None]:
        """Flush a log; the result is done when all records that it has now are durable."""
        request: Future[None] = Future()
        self._requests.setdefault(log, []).append(request)
        if log not in self._running:
            self._start(log)
        return request

    def close(self) -> None:
        """Wait until every request is done."""
        while self._running:
            log, running = next(iter(self._running.items()))
            self._finish(log, running)

    def _start(self, log: Log) -> None:
        """Start a job for the requests that have arrived so far."""
        requests = self._requests.pop(log)
        try:
            job = self._job(log)
        except KafkaStorageError as error:
            complete_all(requests, error)
            return
        if job is None:
            complete_all(requests)
            return
        ports, call_soon = self._manager.ports, self._manager.options.call_soon
        started_ms = ports.clock.monotonic_ms()
        pending = ports.worker.submit(lambda: job.run(ports.files))
        running = _RunningFlush(job, pending, requests, started_ms)
        self._running[log] = running
        pending.add_done_callback(lambda _: call_soon(lambda: self._finish(log, running)))

    def _job(self, log: Log) -> FlushJob | None:
        if not self._manager.has(log):
            raise KafkaStorageError(f"{log.partition}: the log is offline or deleted")
        with self._manager.using(log):
            return log.begin_flush()

    def _finish(self, log: Log, running: _RunningFlush) -> None:
        """Complete the requests of a job, and start the next one; wait for the job if needed.

        `close` and the callback of the job both come here; the second call does nothing.
        """
        if self._running.get(log) is not running:
            return
        del self._running[log]
        error = running.pending.exception()
        is_current = _is_current(log, running.job)
        # A missing file of a directory that was moved is not a failed fsync.
        is_outdated = isinstance(error, FileNotFoundError) and not is_current
        if error is not None and not is_outdated:
            log.abort_flush(running.job)
            complete_all(running.requests, self._manager.fail_log(log, error))
        else:
            log.finish_flush(running.job)
            self._flushed(self._manager.ports.clock.monotonic_ms() - running.started_ms)
            if is_current:
                complete_all(running.requests)
            else:
                self._requests.setdefault(log, []).extend(running.requests)
        if log in self._requests:
            self._start(log)


def _is_current(log: Log, job: FlushJob) -> bool:
    """Return whether the log has neither been truncated nor moved since the job was made."""
    return job.directory == log.directory and job.truncations == log.bounds.truncations

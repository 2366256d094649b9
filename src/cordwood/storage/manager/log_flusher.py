"""Flushes of logs on the worker, so that appends do not wait for the disk.

The leader epochs are saved first; a request may ask for them alone. One job a log runs at a time.
Requests that arrive meanwhile share the next job, so one fsync serves more requests the more there
are. A log that was truncated or moved while its job ran is flushed
again, because the job may have synced files that are gone. When an fsync fails or finds no space it
is unknown which records are durable: the log directory goes offline, and the requests fail with
KafkaStorageError.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending
from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import EpochSave
from cordwood.storage.files.disk_errors import describe_error, is_disk_failure
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_flush import FlushJob
from cordwood.storage.manager.future_completion import complete_all
from cordwood.storage.manager.log_manager import LogManager


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """A request for the whole log, or for its leader epochs alone; `done` is its result."""

    is_whole: bool
    done: Future[None] = field(default_factory=Future)


@dataclass(frozen=True, slots=True, eq=False)
class _RunningJob:
    """A job on the worker, and the requests that it serves."""

    job: FlushJob | EpochSave
    pending: Pending[None]
    requests: list[_Request]
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
        self._running: dict[Log, _RunningJob] = {}
        self._requests: dict[Log, list[_Request]] = {}

    def flush(self, log: Log) -> Pending[None]:
        """Flush a log; the result is done when all records that it has now are durable."""
        return self._add(log, _Request(is_whole=True))

    def save_epochs(self, log: Log) -> Pending[None]:
        """Save a log's leader epochs; the result is done when those it has now are durable."""
        return self._add(log, _Request(is_whole=False))

    def close(self) -> None:
        """Wait until every request is done."""
        while self._running:
            log, running = next(iter(self._running.items()))
            self._finish(log, running)

    def _add(self, log: Log, request: _Request) -> Pending[None]:
        self._requests.setdefault(log, []).append(request)
        if log not in self._running:
            self._start(log)
        return request.done

    def _start(self, log: Log) -> None:
        """Start a job for the requests that have arrived so far."""
        requests = self._requests.pop(log)
        try:
            job = self._job(log, is_whole=any(each.is_whole for each in requests))
        except KafkaStorageError as error:
            _complete(requests, error)
            return
        if job is None:
            _complete(requests)
            return
        ports, call_soon = self._manager.ports, self._manager.options.call_soon
        started_ms = ports.clock.monotonic_ms()
        pending = ports.worker.submit(lambda: job.run(ports.files))
        running = _RunningJob(job, pending, requests, started_ms)
        self._running[log] = running
        pending.add_done_callback(lambda _: call_soon(lambda: self._finish(log, running)))

    def _job(self, log: Log, *, is_whole: bool) -> FlushJob | EpochSave | None:
        """Return the next job of a log: its leader epochs come before its records."""
        if not self._manager.has(log):
            raise KafkaStorageError(f"{log.partition}: the log is offline or deleted")
        with self._manager.using(log):
            return log.epoch_file.begin_save() or (log.begin_flush() if is_whole else None)

    def _finish(self, log: Log, running: _RunningJob) -> None:
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
            _complete(running.requests, self._fail(log, running.job, error))
        else:
            self._succeed(log, running, is_current=is_current)
        if log in self._requests:
            self._start(log)

    def _fail(self, log: Log, job: FlushJob | EpochSave, error: BaseException) -> KafkaStorageError:
        """Return the error for the requests of a failed job."""
        if isinstance(job, FlushJob):
            log.abort_flush(job)
        elif not is_disk_failure(error):
            # The old file is whole, and no record depends on the new one: it is saved later.
            return KafkaStorageError(f"{log.directory}: {describe_error(error)}")
        return self._manager.fail_log(log, error)

    def _succeed(self, log: Log, running: _RunningJob, *, is_current: bool) -> None:
        """Complete the requests that the job serves; the others go into the next job."""
        job, served = running.job, running.requests if is_current else []
        if isinstance(job, FlushJob):
            log.finish_flush(job)
            self._flushed(self._manager.ports.clock.monotonic_ms() - running.started_ms)
        else:
            log.epoch_file.finish_save(job)
            served = [each for each in served if not each.is_whole]
        _complete(served)
        rest = [each for each in running.requests if each not in served]
        if rest:
            self._requests.setdefault(log, []).extend(rest)


def _complete(requests: list[_Request], error: KafkaStorageError | None = None) -> None:
    complete_all([each.done for each in requests], error)


def _is_current(log: Log, job: FlushJob | EpochSave) -> bool:
    """Return whether the log has neither been truncated nor moved since the job was made."""
    if isinstance(job, EpochSave):
        return job.path.startswith(f"{log.directory}/")
    return job.directory == log.directory and job.truncations == log.bounds.truncations

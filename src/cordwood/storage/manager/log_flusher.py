"""Flushes of logs on the worker, so that appends do not wait for the disk.

A flush is up to three jobs: the leader epochs are saved, then the producer snapshots of rolls, then
the segments are synced. A request may ask for the epochs alone. One job a log runs at a time.
Requests that arrive meanwhile share the next job, so one fsync serves more requests the more there
are. A log that was truncated or moved while its job ran is flushed again, because the job may have
synced files that are gone. When an fsync fails or finds no space it is unknown which records are
durable: the log directory goes offline, and the requests fail with KafkaStorageError. A snapshot
without space is dropped instead.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeAlias

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending
from cordwood.storage.checkpoints.leader_epoch_checkpoint_file import EpochSave
from cordwood.storage.files.disk_errors import NO_SPACE, describe_error, is_disk_failure
from cordwood.storage.log.log import Log
from cordwood.storage.log.log_flush import FlushJob
from cordwood.storage.manager.future_completion import complete_all
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.producers.snapshot_save import SnapshotSave

_Job: TypeAlias = FlushJob | EpochSave | SnapshotSave


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    """A request for the whole log, or for its leader epochs alone; `done` is its result."""

    is_whole: bool
    done: Future[None] = field(default_factory=Future)


@dataclass(frozen=True, slots=True, eq=False)
class _RunningJob:
    """A job on the worker, and the requests that it serves."""

    job: _Job
    pending: Pending[None]
    requests: list[_Request]
    started_ms: float


class LogFlusher:
    """Flushes the logs of a manager. Close it, and wait for that, before the manager.

    `flushed` receives the duration of every successful job in milliseconds.
    """

    def __init__(
        self, manager: LogManager, *, flushed: Callable[[float], object] = lambda _: None
    ) -> None:
        self._manager = manager
        self._flushed = flushed
        self._running: dict[Log, _RunningJob] = {}
        self._requests: dict[Log, list[_Request]] = {}
        self._idle: Future[None] | None = None

    def flush(self, log: Log) -> Pending[None]:
        """Flush a log; the result is done when all records that it has now are durable."""
        return self._add(log, _Request(is_whole=True))

    def save_epochs(self, log: Log) -> Pending[None]:
        """Save a log's leader epochs; the result is done when those it has now are durable."""
        return self._add(log, _Request(is_whole=False))

    def close(self) -> Pending[None]:
        """Return a result that is done when every request is."""
        self._idle = idle = Future[None]()
        self._complete_idle()
        return idle

    def _add(self, log: Log, request: _Request) -> Pending[None]:
        self._requests.setdefault(log, []).append(request)
        if log not in self._running:
            self._start(log)
        return request.done

    def _start(self, log: Log) -> None:
        """Start a job for the requests that have arrived so far."""
        requests = self._requests.pop(log)
        try:
            running = self._submit(log, requests)
        except KafkaStorageError as error:
            _complete(requests, error)
        except Exception as error:  # noqa: BLE001 - every request has a result
            _complete(requests, self._unexpected(log, error))
        else:
            if running is None:
                _complete(requests)
                return
            self._running[log] = running
            call_soon = self._manager.options.call_soon
            # A future keeps its callbacks: they must not refer to it, or it would never be freed.
            running.pending.add_done_callback(lambda _: call_soon(lambda: self._finish(log)))

    def _submit(self, log: Log, requests: list[_Request]) -> _RunningJob | None:
        """Submit the next job of a log; return None if there is nothing to do."""
        job = self._job(log, is_whole=any(each.is_whole for each in requests))
        if job is None:
            return None
        ports = self._manager.ports
        started_ms = ports.clock.monotonic_ms()
        pending = ports.worker.submit(lambda: job.run(ports.files), lane=Lane.FLUSH)
        if isinstance(job, EpochSave):
            log.changes.epoch_save = pending
        return _RunningJob(job, pending, requests, started_ms)

    def _job(self, log: Log, *, is_whole: bool) -> _Job | None:
        """Return the next job of a log: its leader epochs come before its records."""
        if not self._manager.has(log):
            raise KafkaStorageError(f"{log.partition}: the log is offline or deleted")
        with self._manager.using(log):
            save = log.epoch_file.begin_save()
            if save is not None or not is_whole:
                return save
            return log.snapshot_files.begin_save() or log.begin_flush()

    def _finish(self, log: Log) -> None:
        """Complete the requests of a log's finished job, and start the next one."""
        running = self._running[log]
        log.changes.epoch_save = None
        try:
            failure = self._take_result(log, running)
        except Exception as error:  # noqa: BLE001 - every request has a result
            failure = self._unexpected(log, error)
        if failure is not None:
            _complete([each for each in running.requests if not each.done.done()], failure)
        rest = [each for each in running.requests if not each.done.done()]
        if rest:
            self._requests.setdefault(log, []).extend(rest)
        # Not before: a completed request may have been followed by another one at once.
        del self._running[log]
        if log in self._requests:
            self._start(log)
        self._complete_idle()

    def _complete_idle(self) -> None:
        """Complete the result of `close` if no job runs."""
        if self._idle is not None and not self._running:
            complete_all([self._idle])
            self._idle = None

    def _take_result(self, log: Log, running: _RunningJob) -> KafkaStorageError | None:
        """Apply the result of a job; return the error for its requests, if there is one."""
        job, error = running.job, running.pending.exception()
        is_current = _is_current(log, job)
        # A missing file of a directory that was moved is not a failed fsync.
        is_outdated = isinstance(error, FileNotFoundError) and not is_current
        if error is None or is_outdated:
            return self._succeed(log, running, is_current=is_current)
        return self._fail(log, job, error)

    def _unexpected(self, log: Log, error: Exception) -> KafkaStorageError:
        """Report an error that is not the disk's; return the error for the requests."""
        self._manager.failures.report(log.partition, error)
        return KafkaStorageError(f"{log.directory}: the flush failed: {error!r}")

    def _fail(self, log: Log, job: _Job, error: BaseException) -> KafkaStorageError | None:
        """Return the error for the requests of a failed job; None if the next job serves them."""
        if isinstance(job, SnapshotSave):
            if isinstance(error, OSError) and error.errno in NO_SPACE:
                log.snapshot_files.drop_save(job, error)
                return None
            log.snapshot_files.abort_save(job)
        if isinstance(job, FlushJob):
            log.abort_flush(job)
        elif not is_disk_failure(error):
            # The old file is whole, and no record depends on the new one: it is saved later.
            return KafkaStorageError(f"{log.directory}: {describe_error(error)}")
        return self._manager.fail_log(log, error)

    def _succeed(
        self, log: Log, running: _RunningJob, *, is_current: bool
    ) -> KafkaStorageError | None:
        """Complete the requests that the job serves; the others go into the next job."""
        job = running.job
        if isinstance(job, FlushJob):
            log.finish_flush(job)
            self._flushed(self._manager.ports.clock.monotonic_ms() - running.started_ms)
            _complete(running.requests if is_current else [])
        elif isinstance(job, EpochSave):
            if is_current:
                log.epoch_file.finish_save(job)
                _complete([each for each in running.requests if not each.is_whole])
        else:
            return self._name_snapshots(log, job)
        return None

    def _name_snapshots(self, log: Log, save: SnapshotSave) -> KafkaStorageError | None:
        """Rename the files of a save; return the error if that fails."""
        try:
            with self._manager.using(log):
                log.snapshot_files.finish_save(save)
        except KafkaStorageError as error:
            return error
        return None


def _complete(requests: list[_Request], error: KafkaStorageError | None = None) -> None:
    complete_all([each.done for each in requests], error)


def _is_current(log: Log, job: _Job) -> bool:
    """Return whether the log has neither been truncated nor moved since the job was made."""
    if isinstance(job, EpochSave):
        return job.path.startswith(f"{log.directory}/")
    if isinstance(job, SnapshotSave):
        return job.directory == log.directory
    return job.directory == log.directory and job.truncations == log.bounds.truncations

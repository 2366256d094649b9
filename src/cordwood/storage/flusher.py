"""Flushes logs on the worker, so that whoever appends does not wait for a disk.

Of one log one job runs at a time. Who asks meanwhile waits for the next job, which covers all of
them: the more ask, the more each sync is worth. `call_soon` brings the end of a job back to the
thread that owns the logs.
"""

from collections.abc import Callable
from concurrent.futures import Future

from cordwood.core.ports import Files, Pending, Worker
from cordwood.storage.flushing import FlushJob
from cordwood.storage.log import Log

CallSoon = Callable[[Callable[[], object]], object]
OnError = Callable[[Log, OSError], object]


class Flusher:
    """`on_error` hears of a log whose flush has failed, before those who wait for it do."""

    def __init__(
        self, files: Files, worker: Worker, *, call_soon: CallSoon, on_error: OnError
    ) -> None:
        self._files = files
        self._worker = worker
        self._call_soon = call_soon
        self._on_error = on_error
        self._running: set[Log] = set()
        self._waiting: dict[Log, list[Future[None]]] = {}

    def flush(self, log: Log) -> Pending[None]:
        """Return what is done when all that the log has now is durable."""
        pending: Future[None] = Future()
        self._waiting.setdefault(log, []).append(pending)
        if log not in self._running:
            self._begin(log)
        return pending

    def _begin(self, log: Log) -> None:
        """Run a job for all who wait by now."""
        waiting = self._waiting.pop(log)
        job = log.begin_flush()
        if job is None:
            for pending in waiting:
                pending.set_result(None)
            return
        self._running.add(log)
        done = self._worker.submit(lambda: job.run(self._files))
        done.add_done_callback(
            lambda ended: self._call_soon(lambda: self._end(log, job, ended=ended, waiting=waiting))
        )

    def _end(
        self, log: Log, job: FlushJob, *, ended: Pending[None], waiting: list[Future[None]]
    ) -> None:
        error = ended.exception()
        self._running.discard(log)
        if error is None:
            log.finish_flush(job)
        else:
            log.failed_flush(job)
        if isinstance(error, OSError):
            self._on_error(log, error)
        for pending in waiting:
            if error is None:
                pending.set_result(None)
            else:
                pending.set_exception(error)
        if log in self._waiting:
            self._begin(log)

"""Writer of checkpoint files: the owner of the logs collects the values, the worker writes them.

One write a file runs at a time. Of the writes that are requested meanwhile, only the last one
follows, since its values replace those of the others. `call_soon` runs the completion of a write on
the owner's thread.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Lane, Pending, Worker
from cordwood.core.types import TopicPartition
from cordwood.storage.manager.future_completion import complete_all
from cordwood.storage.manager.log_directory import LogDirectory, Offsets

CallSoon = Callable[[Callable[[], object]], object]
OnError = Callable[[LogDirectory, OSError], object]


@dataclass(slots=True, eq=False)
class _CheckpointFile:
    """A checkpoint file: the values in it, those being written, and those to be written next."""

    directory: LogDirectory
    name: str
    written: Offsets
    writing: Offsets = field(default_factory=dict)
    running: Pending[None] | None = None
    running_requests: list[Future[None]] = field(default_factory=list)
    next_values: Offsets | None = None
    next_requests: list[Future[None]] = field(default_factory=list)


class CheckpointWriter:
    """Writes checkpoint files; `on_error` is called for a failed write before its waiters are."""

    def __init__(self, worker: Worker, call_soon: CallSoon, *, on_error: OnError) -> None:
        self._worker = worker
        self._call_soon = call_soon
        self._on_error = on_error
        self._files: dict[tuple[str, str], _CheckpointFile] = {}

    def may_contain(self, directory: LogDirectory, name: str, *, partition: TopicPartition) -> bool:
        """Return whether the file contains this partition, would after a crash, or soon will."""
        file = self._file(directory, name)
        return any(
            partition in each for each in (file.written, file.writing, file.next_values or ())
        )

    def written(self, directory: LogDirectory, name: str) -> Offsets:
        """Return the values in the file."""
        return self._file(directory, name).written

    def write(self, directory: LogDirectory, name: str, *, offsets: Offsets) -> Pending[None]:
        """Write these values soon; the result is done once they, or newer ones, are durable."""
        file = self._file(directory, name)
        request: Future[None] = Future()
        file.next_values = offsets
        file.next_requests.append(request)
        if file.running is None:
            self._start(file, offsets)
        return request

    def write_now(self, directory: LogDirectory, name: str, *, offsets: Offsets) -> None:
        """Write these values before returning; OSError if that fails.

        Waits for the running write, and replaces the next one.
        """
        file = self._file(directory, name)
        file.next_values = None
        if file.running is not None:
            self._finish(file, file.running)
        requests, file.next_requests = file.next_requests, []
        try:
            directory.write_checkpoint(name, offsets)
        except OSError as error:
            _complete(requests, directory, error)
            raise
        file.written, file.writing = offsets, {}
        _complete(requests, directory, None)

    def _start(self, file: _CheckpointFile, offsets: Offsets) -> None:
        file.writing, file.next_values = offsets, None
        file.running_requests, file.next_requests = file.next_requests, []
        pending = self._worker.submit(
            lambda: file.directory.write_checkpoint(file.name, offsets), lane=Lane.BACKGROUND
        )
        file.running = pending
        pending.add_done_callback(lambda ended: self._call_soon(lambda: self._finish(file, ended)))

    def _finish(self, file: _CheckpointFile, ended: Pending[None]) -> None:
        """Complete the requests of a write, and start the next one; wait for the write if needed.

        `write_now` and the callback of the write both come here; the second call does nothing.
        """
        if file.running is not ended:
            return
        file.running = None
        error = ended.exception()
        if error is None:
            file.written, file.writing = file.writing, {}
        if isinstance(error, OSError):
            self._on_error(file.directory, error)
        requests, file.running_requests = file.running_requests, []
        _complete(requests, file.directory, error)
        if file.next_values is None:
            return
        if file.directory.is_online:
            self._start(file, file.next_values)
        else:
            requests, file.next_requests, file.next_values = file.next_requests, [], None
            _complete(requests, file.directory, file.directory.failure)

    def _file(self, directory: LogDirectory, name: str) -> _CheckpointFile:
        key = (directory.path, name)
        if key not in self._files:
            found = directory.checkpoints.get(name, {})
            self._files[key] = _CheckpointFile(directory, name, found)
        return self._files[key]


def _complete(
    requests: list[Future[None]], directory: LogDirectory, error: BaseException | None
) -> None:
    """Complete requests; an error is wrapped in a KafkaStorageError."""
    if error is None:
        complete_all(requests)
        return
    storage_error = KafkaStorageError(f"{directory.path}: {error}")
    storage_error.__cause__ = error
    complete_all(requests, storage_error)

"""Checkpoints are written beside the work: their values are taken on the thread that owns the logs,
text and disk are the worker's.

Of one file one write runs at a time; of those that are asked for meanwhile the last one follows it,
for it says all that the others would. `call_soon` brings the end of a write back to the owner.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from cordwood.core.errors import KafkaStorageError
from cordwood.core.ports import Pending, Worker
from cordwood.core.types import TopicPartition
from cordwood.storage.log_directory import LogDirectory, Offsets
from cordwood.storage.waiting import settle

CallSoon = Callable[[Callable[[], object]], object]
OnError = Callable[[LogDirectory, OSError], object]


@dataclass(slots=True, eq=False)
class _File:
    """A checkpoint file: what it says, the write that runs, and the values that are to follow."""

    directory: LogDirectory
    name: str
    written: Offsets
    writing: Offsets = field(default_factory=dict)
    running: Pending[None] | None = None
    served: list[Future[None]] = field(default_factory=list)
    following: Offsets | None = None
    waiting: list[Future[None]] = field(default_factory=list)


class Checkpointer:
    """`on_error` hears of a file that could not be written, before those who wait for it do."""

    def __init__(self, worker: Worker, *, call_soon: CallSoon, on_error: OnError) -> None:
        self._worker = worker
        self._call_soon = call_soon
        self._on_error = on_error
        self._files: dict[tuple[str, str], _File] = {}

    def mentions(self, directory: LogDirectory, name: str, *, partition: TopicPartition) -> bool:
        """Whether a crash could leave a file that names this partition, as things are."""
        file = self._file(directory, name)
        return partition in file.written or partition in file.writing

    def write(self, directory: LogDirectory, name: str, *, offsets: Offsets) -> Pending[None]:
        """Write these values soon, and return what is done when they, or newer ones, are there."""
        file = self._file(directory, name)
        pending: Future[None] = Future()
        file.following = offsets
        file.waiting.append(pending)
        if file.running is None:
            self._begin(file, offsets)
        return pending

    def write_now(self, directory: LogDirectory, name: str, *, offsets: Offsets) -> None:
        """Write these values here, after what runs and instead of what waits; OSError rises."""
        file = self._file(directory, name)
        file.following = None
        if file.running is not None:
            self._end(file, file.running)
        waiting, file.waiting = file.waiting, []
        try:
            directory.write_checkpoint(name, offsets)
        except OSError as error:
            _settle(waiting, directory, error)
            raise
        file.written, file.writing = offsets, {}
        _settle(waiting, directory, None)

    def _begin(self, file: _File, offsets: Offsets) -> None:
        file.writing, file.following = offsets, None
        file.served, file.waiting = file.waiting, []
        pending = self._worker.submit(lambda: file.directory.write_checkpoint(file.name, offsets))
        file.running = pending
        pending.add_done_callback(lambda ended: self._call_soon(lambda: self._end(file, ended)))

    def _end(self, file: _File, ended: Pending[None]) -> None:
        """Tell of a write that has ended, once, and begin the next one; wait if it has not."""
        if file.running is not ended:
            return
        file.running = None
        error = ended.exception()
        if error is None:
            file.written, file.writing = file.writing, {}
        if isinstance(error, OSError):
            self._on_error(file.directory, error)
        served, file.served = file.served, []
        _settle(served, file.directory, error)
        if file.following is None:
            return
        if file.directory.is_online:
            self._begin(file, file.following)
        else:
            waiting, file.waiting, file.following = file.waiting, [], None
            _settle(waiting, file.directory, file.directory.failure)

    def _file(self, directory: LogDirectory, name: str) -> _File:
        key = (directory.path, name)
        if key not in self._files:
            self._files[key] = _File(directory, name, directory.checkpoints.get(name, {}))
        return self._files[key]


def _settle(
    waiting: list[Future[None]], directory: LogDirectory, error: BaseException | None
) -> None:
    """Tell those who wait; an error is one of the directory's storage."""
    if error is None:
        settle(waiting)
        return
    refusal = KafkaStorageError(f"{directory.path}: {error}")
    refusal.__cause__ = error
    settle(waiting, refusal)

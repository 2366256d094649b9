"""Appends of one partition whose records are prepared on the worker, written in their order.

    add            submits the preparation: checks, decompression, recompression
    change_files   before the write, if it needs other files: a roll, on the worker
    write          runs on the owner's thread, after the writes of all earlier entries

Preparations of several entries overlap, and end in any order. A few entries are written per turn of
the loop: thousands may be prepared behind a slow one. While files are changed for the first entry,
the others wait. An entry that fails does not hold up the others. Kafka prepares on the thread of
the request, under the lock of the partition.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from cordwood.core.errors import KafkaError
from cordwood.core.ports import Pending

_WRITES_PER_TURN: Final = 10

P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class _QueuedAppend(Generic[P, R]):
    """An append: its preparation, its write, and the future for its result."""

    prepared: Pending[P]
    write: Callable[[P], Pending[R]]
    done: Future[R] = field(default_factory=Future)


class AppendQueue(Generic[P, R]):
    """The queue of one partition. `call_soon` runs a call on the owner's thread.

    `change_files` returns the change that the write of a preparation needs first, None if it needs
    none; it is asked again after a change.
    """

    def __init__(
        self,
        call_soon: Callable[[Callable[[], object]], object],
        change_files: Callable[[P], Pending[None] | None],
    ) -> None:
        self._call_soon = call_soon
        self._change_files = change_files
        #: Not a deque, which takes 600 bytes of each partition without an entry.
        self._entries = list[_QueuedAppend[P, R]]()
        self._change: Pending[None] | None = None

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, prepared: Pending[P], write: Callable[[P], Pending[R]]) -> Pending[R]:
        """Queue an append whose preparation has been submitted; return the result of its write."""
        entry = _QueuedAppend(prepared, write)
        self._entries.append(entry)
        self._write_after(prepared)
        return entry.done

    def add_first(
        self, prepared: Pending[P], write: Callable[[P], Pending[R]], *, change: Pending[None]
    ) -> Pending[R]:
        """Queue an append that waits for a change of files; the queue is empty."""
        assert not self._entries, "the change is one for the first entry"
        entry = _QueuedAppend(prepared, write)
        self._entries.append(entry)
        self._change = change
        self._write_after(change)
        return entry.done

    def fail(self, error: KafkaError) -> None:
        """Fail all appends that have not been written."""
        entries, self._entries = self._entries, []
        self._change = None
        for entry in entries:
            entry.done.set_exception(error)

    def _write_prepared(self) -> None:
        """Write the first entries, as far as they are prepared."""
        for _ in range(_WRITES_PER_TURN):
            if not self._is_ready():
                return
            first = self._entries[0]
            try:
                if self._must_wait():
                    return
            except Exception as error:  # noqa: BLE001 - the future carries it
                # A disk that has failed has ended the leadership, and with it all appends.
                if not first.done.done():
                    self._entries.pop(0).done.set_exception(error)
            else:
                _write(self._entries.pop(0))
        if self._is_ready():
            self._call_soon(self._write_prepared)

    def _is_ready(self) -> bool:
        is_changing = self._change is not None and not self._change.done()
        return bool(self._entries) and not is_changing and self._entries[0].prepared.done()

    def _must_wait(self) -> bool:
        """Return whether files are changed for the first entry; raise the error of a change."""
        change, self._change = self._change, None
        if change is not None:
            change.result()
        change = self._change_files(self._entries[0].prepared.result())
        if change is None:
            return False
        self._change = change
        self._write_after(change)
        return True

    def _write_after(self, pending: Pending[object]) -> None:
        pending.add_done_callback(lambda _: self._call_soon(self._write_prepared))


def _write(entry: _QueuedAppend[P, R]) -> None:
    try:
        written = entry.write(entry.prepared.result())
    except Exception as error:  # noqa: BLE001 - the future carries it
        # Without the frames, which refer to the entry and with it to the records.
        entry.done.set_exception(error.with_traceback(None))
    else:
        # A future keeps its callbacks: this one must not refer to it, or to the records.
        done = entry.done
        written.add_done_callback(lambda ended: _copy(ended, done))


def _copy(source: Pending[R], target: Future[R]) -> None:
    error = source.exception()
    if error is None:
        target.set_result(source.result())
    else:
        target.set_exception(error)

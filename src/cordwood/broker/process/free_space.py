"""Free space of the log directories, measured on request (Kafka: `usableBytes` of `LogDirInfo`).

The system call waits for the file system, so a worker makes it. The metrics page begins the next
measurement and shows the last one; a directory that does not answer has no second one meanwhile.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from cordwood.core.ports import Lane, Pending, Volume
from cordwood.storage.manager.log_manager import LogManager

if TYPE_CHECKING:
    from cordwood.observability.metrics import Readings


class FreeSpace:
    """The last measured volumes of the log directories that are online."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._volumes: dict[str, Volume] = {}
        self._running: dict[str, Pending[Volume]] = {}

    def measure(self) -> Iterator[str]:
        """Begin to measure the directories that are online, except those in progress.

        The metrics page has this iterator in front; it yields no text.
        """
        ports = self._manager.ports
        for directory in self._manager.directories:
            path = directory.path
            if directory.is_online and path not in self._running:
                call = partial(ports.files.volume, path)
                self._running[path] = pending = ports.worker.submit(call, lane=Lane.BACKGROUND)
                pending.add_done_callback(self._ended(path))
        yield ""

    def _ended(self, path: str) -> Callable[[Pending[Volume]], object]:
        return lambda pending: self._manager.options.call_soon(partial(self._store, path, pending))

    def _store(self, path: str, pending: Pending[Volume]) -> None:
        """Keep a result; a directory that cannot be measured has none."""
        self._running.pop(path, None)
        self._volumes.pop(path, None)
        if pending.exception() is None:
            self._volumes[path] = pending.result()

    def usable(self) -> "Readings":
        """Return the bytes that may still be written, by directory."""
        return {(path,): volume.usable_bytes for path, volume in self._volumes.items()}

    def total(self) -> "Readings":
        """Return the bytes of the file systems, by directory."""
        return {(path,): volume.total_bytes for path, volume in self._volumes.items()}

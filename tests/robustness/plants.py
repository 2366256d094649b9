"""`cordwood` with one planted mistake: `python -m tests.robustness.plants MISTAKE serve ...`

late_writes            the last write to a file stays in the process until the next call on the
                       file, so that it is acknowledged before the system has it
forgotten_producers    a log loses its producer state when it is opened, so that a retried batch
                       is appended again
"""

import sys
from collections.abc import Callable
from typing import Final

from cordwood.cli import main
from cordwood.core import system
from cordwood.core.binary import Buffer
from cordwood.core.ports import Ports
from cordwood.storage.files.delayed_deletions import DelayedDeletions
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log import log as logs
from cordwood.storage.log.log_loader import LogPlace, RecoveryOptions
from cordwood.storage.manager import log_startup


class LateFile(system.SystemFile):
    """A file that holds back its last write."""

    def __init__(self, path: str, descriptor: int) -> None:
        super().__init__(path, descriptor)
        self._kept = (b"", 0)

    @property
    def size(self) -> int:
        data, position = self._kept
        return max(super().size, position + len(data))

    def pwrite(self, data: Buffer, position: int) -> None:
        self._write_kept()
        self._kept = bytes(data), position

    def pread(self, length: int, position: int) -> bytes:
        self._write_kept()
        return super().pread(length, position)

    def truncate(self, size: int) -> None:
        self._write_kept()
        super().truncate(size)

    def sync(self) -> None:
        self._write_kept()
        super().sync()

    def slice(self, position: int, length: int) -> system.SystemSlice:
        self._write_kept()
        return super().slice(position, length)

    def close(self) -> None:
        self._write_kept()
        super().close()

    def _write_kept(self) -> None:
        (data, position), self._kept = self._kept, (b"", 0)
        super().pwrite(data, position)


class ForgetfulLog(logs.Log):
    """A log that loses the producer state when it is opened."""

    @classmethod
    def open(
        cls,
        place: LogPlace,
        ports: Ports,
        *,
        table: OpenFileCache,
        deletions: DelayedDeletions,
        recovery: RecoveryOptions = RecoveryOptions(),  # noqa: B008 - a value that cannot change
    ) -> "ForgetfulLog":
        log = super().open(place, ports, table=table, deletions=deletions, recovery=recovery)
        log.producers.clear(log.bounds.log_end)
        return log


def late_writes() -> None:
    vars(system)["SystemFile"] = LateFile


def forgotten_producers() -> None:
    vars(log_startup)["Log"] = ForgetfulLog


MISTAKES: Final[dict[str, Callable[[], None]]] = {
    each.__name__: each for each in (late_writes, forgotten_producers)
}

if __name__ == "__main__":
    MISTAKES[sys.argv.pop(1)]()
    main()

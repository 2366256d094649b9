"""`cordwood` with one mistake planted in it: `python -m tests.robustness.plants MISTAKE serve ...`

late_writes            what is written stays in the process until something else is done with
                       the file: it is acknowledged before the system has it
forgotten_producers    a log that is opened has forgotten who wrote what: a batch that is sent
                       again is taken for a new one
"""

import sys
from collections.abc import Callable
from typing import Final

from cordwood.cli import main
from cordwood.core import system
from cordwood.core.binary import Buffer
from cordwood.core.ports import Clock
from cordwood.storage import log as logs
from cordwood.storage import starting
from cordwood.storage.loading import LogPlace, LogTools


class LateFile(system.SystemFile):
    """Keeps the last write to itself."""

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
    """Knows no producer when it has been opened."""

    @classmethod
    def open(cls, place: LogPlace, tools: LogTools, *, clock: Clock) -> "ForgetfulLog":
        log = super().open(place, tools, clock=clock)
        log.producers.clear(log.bounds.log_end)
        return log


def late_writes() -> None:
    vars(system)["SystemFile"] = LateFile


def forgotten_producers() -> None:
    vars(starting)["Log"] = ForgetfulLog


MISTAKES: Final[dict[str, Callable[[], None]]] = {
    each.__name__: each for each in (late_writes, forgotten_producers)
}

if __name__ == "__main__":
    MISTAKES[sys.argv.pop(1)]()
    main()

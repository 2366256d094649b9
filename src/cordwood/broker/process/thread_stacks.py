"""Stacks of all threads at one moment, without frame objects (Kafka: `ThreadMXBean`).

`sys._current_frames` and `frame.f_back` make an object for each call of another thread. Up to
CPython 3.11 that allocation may collect garbage, whose callbacks let the other thread continue. A
call that ends meanwhile leaves an object that refers to freed memory, and the process crashes.
`faulthandler` reads all calls while it holds the interpreter lock, and allocates nothing.
"""

import faulthandler
import os
import re
import tempfile
from typing import IO, Final, NamedTuple

_THREAD: Final = re.compile(r"(?:Current thread|Thread) 0x([0-9a-f]+)\b")
_CALL: Final = re.compile(r'  File "(.*)", line (\d+|\?+) in (.*)')


class Call(NamedTuple):
    """A call of a function, and the line that it executes."""

    function: str
    file: str
    line: str

    def __str__(self) -> str:
        return f"{self.function} ({self.file}:{self.line})"


class ThreadStacks:
    """Reads the stacks by a file in memory, which is open until `close`."""

    __slots__ = ("_file",)

    def __init__(self) -> None:
        self._file: Final = _memory_file()

    def read(self) -> dict[int, list[Call]]:
        """Return the calls of each thread by its identity, the outermost first, 100 at most.

        A process with more than 100 threads has the youngest ones in the result.
        """
        self._file.seek(0)
        self._file.truncate()
        faulthandler.dump_traceback(self._file, all_threads=True)
        self._file.seek(0)
        return parsed(self._file.read().decode(errors="replace"))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def parsed(dump: str) -> dict[int, list[Call]]:
    """Return the calls of each thread in a dump of `faulthandler`."""
    stacks: dict[int, list[Call]] = {}
    calls: list[Call] = []
    for line in dump.splitlines():
        if thread := _THREAD.match(line):
            calls = stacks[int(thread[1], 16)] = []
        elif call := _CALL.fullmatch(line):
            calls.insert(0, Call(call[3], call[1], call[2]))
    return stacks


def _memory_file() -> IO[bytes]:
    """Return an empty file; on Linux it needs no directory that can be written to."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("stacks"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)

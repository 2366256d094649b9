"""The Python workers of a session, as the system sees them: how much memory they have had."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

PROC: Final = Path("/proc")
PAUSE_S: Final = 0.01


def peak_in(spark: "SparkSession", work: Callable[[], T]) -> tuple[T, int]:
    """Return what comes of some work, and the most bytes that one of its workers had.

    Workers that wait for tasks end before, so that nothing counts that others have left in them.
    """
    idle = workers(spark)
    for process in idle:
        os.kill(process, signal.SIGKILL)
    while any((PROC / str(process)).exists() for process in idle):
        Event().wait(PAUSE_S)
    found = work()
    return found, max(map(peak_bytes, workers(spark)))


def workers(spark: "SparkSession") -> list[int]:
    """Return the processes that the children of the session's JVM, Python's daemons, have begun."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001  # nobody else tells its process
    assert gateway is not None
    return [worker for daemon in children(gateway.proc.pid) for worker in children(daemon)]


def peak_bytes(process: int) -> int:
    """Return the most memory that a process has had; none, once it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        lines = (PROC / str(process) / "status").read_text().splitlines()
        peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
        return peaks[0] * 1024 if peaks else 0
    return 0


def below(process: int) -> Iterator[int]:
    """Yield the processes that a process has begun, and those that they have."""
    for child in children(process):
        yield child
        yield from below(child)


def children(process: int) -> list[int]:
    """Return the processes that a process has begun, whichever of its threads it was."""
    found = []
    for each in PROC.glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int((each / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(each.name))
    return found

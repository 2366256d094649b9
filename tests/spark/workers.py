"""The Python worker processes of a session, and their peak memory."""

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
    """Return the result of some work, and the peak memory of one of its workers.

    Idle workers are killed first, so that memory of earlier tasks does not count.
    """
    idle = workers(spark)
    for process in idle:
        os.kill(process, signal.SIGKILL)
    while any((PROC / str(process)).exists() for process in idle):
        Event().wait(PAUSE_S)
    found = work()
    return found, max(map(peak_bytes, workers(spark)))


def workers(spark: "SparkSession") -> list[int]:
    """Return the worker processes: children of the Python daemons of the session's JVM."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001  # the only access to the JVM's process
    assert gateway is not None
    return [worker for daemon in children(gateway.proc.pid) for worker in children(daemon)]


def peak_bytes(process: int) -> int:
    """Return the peak memory of a process; 0 if it has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        lines = (PROC / str(process) / "status").read_text().splitlines()
        peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
        return peaks[0] * 1024 if peaks else 0
    return 0


def below(process: int) -> Iterator[int]:
    """Yield the descendants of a process."""
    for child in children(process):
        yield child
        yield from below(child)


def children(process: int) -> list[int]:
    """Return the children of a process, of any of its threads."""
    found = []
    for each in PROC.glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int((each / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(each.name))
    return found

"""The Python workers of a session, as the system sees them: how much memory they have had."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROC: Final = Path("/proc")


def workers(spark: "SparkSession") -> list[int]:
    """Return the processes below the session's JVM, which are Python's daemon and its workers."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001  # nobody else tells its process
    assert gateway is not None
    return list(below(gateway.proc.pid))


def forget_peaks(processes: list[int]) -> None:
    """Let the system forget how much memory they have had."""
    for process in processes:
        (PROC / str(process) / "clear_refs").write_text("5")


def peak_bytes(process: int) -> int:
    """Return the most memory that a process has had; none, once it has ended."""
    lines = (PROC / str(process) / "status").read_text().splitlines()
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return peaks[0] * 1024 if peaks else 0


def below(process: int) -> Iterator[int]:
    """Yield the processes that a process has begun, and those that they have."""
    try:
        tasks = list((PROC / str(process) / "task").iterdir())
        told = [(task / "children").read_text() for task in tasks]
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return
    for child in map(int, " ".join(told).split()):
        yield child
        yield from below(child)

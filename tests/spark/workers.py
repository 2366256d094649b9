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
    return list(_below(gateway.proc.pid))


def forget_peaks(processes: list[int]) -> None:
    """Let the system forget how much memory they have had."""
    for process in processes:
        (PROC / str(process) / "clear_refs").write_text("5")


def peak_bytes(process: int) -> int:
    """Return the most memory that a process has had; none, once it has ended."""
    lines = (PROC / str(process) / "status").read_text().splitlines()
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
    return peaks[0] * 1024 if peaks else 0


def _below(process: int) -> Iterator[int]:
    for task in (PROC / str(process) / "task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from _below(int(child))

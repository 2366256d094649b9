"""Processor time, which other work on the machine disturbs less than time on the wall."""

from collections.abc import Callable
from time import process_time


def cpu_seconds(call: Callable[[], object], times: int) -> float:
    """Return the CPU time of `times` calls, at least one tick of the clock."""
    start = process_time()
    for _ in range(times):
        call()
    return max(process_time() - start, 1e-9)

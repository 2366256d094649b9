"""Open files of this process."""

from pathlib import Path


def open_descriptors() -> int:
    """Return how many there are."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())

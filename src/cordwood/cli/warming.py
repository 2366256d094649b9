"""Kernels are compiled, once on a machine, by the first command that has enough to do for it.

Compiling takes about ten seconds, in which plain Python reads a few dozen megabytes. A command with
less to read begins at once, with kernels or without.
"""

from collections.abc import Iterable
from pathlib import Path


def warm_for(size: int) -> None:
    """Have kernels at hand for so many bytes, if they are worth the wait; the user hears of it."""
    from cordwood.records import kernels  # noqa: PLC0415  # help needs none of it

    kernels.warm_for(size)


def log_bytes(paths: Iterable[str]) -> int:
    """Return how much there is to read in files of logs, or in all of a directory, about."""
    found = 0
    for path in map(Path, paths):
        logs = path.rglob("*.log") if path.is_dir() else [path]
        found += sum(log.stat().st_size for log in logs if log.is_file())
    return found

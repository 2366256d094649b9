"""Compilation of the kernels, once on a machine, by the first command that reads enough data.

Compiling takes about ten seconds. Plain Python reads a few dozen megabytes in that time, so a
command with less to read starts at once, whether the kernels are compiled or not.
"""

from collections.abc import Iterable
from pathlib import Path


def warm_kernels_for(size: int) -> None:
    """Compile the kernels if reading `size` bytes is worth the wait; print a message if so."""
    from cordwood.records import kernels  # noqa: PLC0415  # help needs none of it

    kernels.warm_for(size)


def count_log_bytes(paths: Iterable[str]) -> int:
    """Return the size of log files, and of all log files in directories; approximate."""
    found = 0
    for path in map(Path, paths):
        logs = path.rglob("*.log") if path.is_dir() else [path]
        found += sum(log.stat().st_size for log in logs if log.is_file())
    return found

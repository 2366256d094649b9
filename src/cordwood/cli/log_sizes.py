"""Sizes of log files that a command reads, for its progress and its choice of an engine."""

from collections.abc import Iterable
from pathlib import Path


def count_log_bytes(paths: Iterable[str]) -> int:
    """Return the size of log files, and of all log files in directories; approximate."""
    found = 0
    for path in map(Path, paths):
        logs = path.rglob("*.log") if path.is_dir() else [path]
        found += sum(log.stat().st_size for log in logs if log.is_file())
    return found

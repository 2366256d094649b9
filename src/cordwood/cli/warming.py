"""Kernels are compiled, once on a machine, by the first command that has enough to do for it.

Compiling takes about ten seconds, in which plain Python reads a few dozen megabytes. A command with
less to read begins at once, with kernels or without.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

WORTH_BYTES: Final = 64 << 20


def warm_for(size: int) -> None:
    """Have kernels at hand for so many bytes, if they are worth the wait; the user hears of it.

    Where they cannot be compiled plain Python does the work, and the user hears of that too.
    """
    if size < WORTH_BYTES:
        return
    from cordwood.core.errors import KafkaStorageError  # noqa: PLC0415  # help needs none of it
    from cordwood.records import kernels  # noqa: PLC0415  # as above

    try:
        kernels.warm(_say)
    except KafkaStorageError as error:
        _say(f"cordwood: {error}")


def log_bytes(paths: Iterable[str]) -> int:
    """Return how much there is to read in files of logs, or in all of a directory, about."""
    found = 0
    for path in map(Path, paths):
        logs = path.rglob("*.log") if path.is_dir() else [path]
        found += sum(log.stat().st_size for log in logs if log.is_file())
    return found


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")

"""Attempt directories: the output of distributed tasks, until the log's owner adopts it.

    orders-0/cleaning-<16 hexadecimal digits>/00000000000000000000.log.cleaned

A task may be retried while its first attempt still runs, and may outlive the driver. So each
attempt writes into its own directory inside the partition's, which brokers ignore. The owner adopts
the files of the reported attempt as `.cleaned` files of the log, and removes all other attempts.
The attempts of a killed owner are removed by the next one.
"""

import re
from contextlib import suppress
from typing import Final

from cordwood.core.ports import FileKind, Files

_ATTEMPT: Final = re.compile("cleaning-[0-9a-f]{16}")
#: Random bytes in the name of an attempt.
TOKEN_BYTES: Final = 8


def create_attempt(files: Files, directory: str, *, token: bytes) -> str:
    """Create the directory of an attempt, and return its path."""
    path = f"{directory}/cleaning-{token.hex()}"
    files.make_directory(path)
    return path


def adopt_attempt(files: Files, attempt: str, *, directory: str) -> None:
    """Move the files of an attempt into the log's directory, which the caller fsyncs."""
    for name in files.list(attempt):
        files.rename(f"{attempt}/{name}", f"{directory}/{name}")
    files.remove_directory(attempt)


def remove_attempts(files: Files, directory: str) -> None:
    """Remove all attempts; one that is still being written may stay until the next time."""
    for name in files.list(directory, FileKind.DIRECTORY):
        if _ATTEMPT.fullmatch(name) is not None:
            with suppress(OSError):
                remove_attempt(files, f"{directory}/{name}")


def remove_attempt(files: Files, attempt: str) -> None:
    """Remove one attempt."""
    for name in files.list(attempt):
        files.remove(f"{attempt}/{name}")
    files.remove_directory(attempt)

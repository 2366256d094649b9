"""What somebody else writes for a log lies apart until the log's owner takes it.

    orders-0/cleaning-<16 hexadecimal digits>/00000000000000000000.log.cleaned

Whoever writes may be tried again while the first try goes on, and may outlive the one who asked. So
each try has a directory of its own in the partition's, which brokers pass over. The owner takes the
files of the one that he hears of, as `.cleaned` ones of the log, and removes all other directories;
what a killed owner leaves, the next one removes.
"""

import re
from contextlib import suppress
from typing import Final

from cordwood.core.ports import Files, Kind

_ATTEMPT: Final = re.compile("cleaning-[0-9a-f]{16}")
#: So many bytes of chance name an attempt.
TOKEN_BYTES: Final = 8


def begin_attempt(files: Files, directory: str, *, token: bytes) -> str:
    """Make a directory to write into, and return its path."""
    path = f"{directory}/cleaning-{token.hex()}"
    files.make_directory(path)
    return path


def adopt(files: Files, attempt: str, *, directory: str) -> None:
    """Make the files of an attempt files of the log; the names are still to be synced."""
    for name in files.list(attempt):
        files.rename(f"{attempt}/{name}", f"{directory}/{name}")
    files.remove_directory(attempt)


def remove_attempts(files: Files, directory: str) -> None:
    """Remove what nobody has taken; what is still written to may stay for the next time."""
    for name in files.list(directory, Kind.DIRECTORY):
        if _ATTEMPT.fullmatch(name) is not None:
            with suppress(OSError):
                remove_attempt(files, f"{directory}/{name}")


def remove_attempt(files: Files, attempt: str) -> None:
    """Remove one attempt."""
    for name in files.list(attempt):
        files.remove(f"{attempt}/{name}")
    files.remove_directory(attempt)

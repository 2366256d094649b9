"""How a command ends: an error becomes a sentence on the standard error and an exit code.

0  good    1  something is wrong    2  wrong usage    3  something could not be reached
130  stopped with Ctrl-C
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from cordwood.cli.output import tell
from cordwood.core.errors import (
    BrokerNotAvailableError,
    CordwoodError,
    ListenError,
    LogDirectoryError,
    NetworkError,
    RequestTimedOutError,
    SettingError,
    SparkError,
)

GOOD: Final = 0
FOUND_WRONG: Final = 1
USAGE: Final = 2
UNREACHABLE: Final = 3
INTERRUPTED: Final = 130

_OUT_OF_REACH: Final = (
    ListenError,
    LogDirectoryError,
    NetworkError,
    RequestTimedOutError,
    BrokerNotAvailableError,
    SparkError,
)
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def ending() -> Iterator[None]:
    """Turn what a command raises into the way it ends."""
    try:
        yield
    except SettingError as error:
        _leave(str(error), USAGE)
    except _OUT_OF_REACH as error:
        _leave(str(error), UNREACHABLE)
    except CordwoodError as error:
        _leave(str(error), FOUND_WRONG)
    except OSError as error:
        _leave(_words(error), UNREACHABLE)


def _words(error: OSError) -> str:
    """Return what the operating system refused, where, and what to do."""
    remedy = "check the path"
    if isinstance(error, PermissionError):
        remedy = "run this as somebody who has the right to it"
    elif error.errno in _NO_ROOM:
        remedy = "make room, or choose another place"
    elif error.errno == errno.EIO:
        remedy = "the disk cannot read or write it: look into the system's log"
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}; {remedy}"


def _leave(words: str, code: int) -> None:
    """Say why, and go."""
    tell(f"cordwood: {words}")
    sys.exit(code)

"""How a command ends: an error becomes a sentence on the standard error and an exit code.

0  good    1  something is wrong    2  wrong usage    3  something could not be reached
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from cordwood.core.errors import CordwoodError, LogDirectoryError, SettingError

GOOD: Final = 0
FOUND_WRONG: Final = 1
USAGE: Final = 2
UNREACHABLE: Final = 3


@contextmanager
def ending() -> Iterator[None]:
    """Turn what a command raises into the way it ends."""
    try:
        yield
    except SettingError as error:
        _leave(str(error), USAGE)
    except LogDirectoryError as error:
        _leave(str(error), UNREACHABLE)
    except CordwoodError as error:
        _leave(str(error), FOUND_WRONG)
    except BrokenPipeError:  # who reads has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(GOOD)
    except OSError as error:
        _leave(_words(error), UNREACHABLE)


def _words(error: OSError) -> str:
    """Return what the operating system refused, where, and what to do."""
    remedy = "check the path"
    if isinstance(error, PermissionError):
        remedy = "run this as somebody who has the right to it"
    return f"{error.strerror or error}: {error.filename or 'no file'}; {remedy}"


def _leave(words: str, code: int) -> None:
    """Say why, and go."""
    sys.stdout.flush()
    sys.stderr.write(f"cordwood: {words}\n")
    sys.exit(code)

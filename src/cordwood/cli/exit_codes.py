"""Exit codes of commands, and the two events that set them: an error and Ctrl-C.

0  success    1  a problem was found    2  wrong usage    3  something is unreachable
130  stopped with Ctrl-C
"""

import errno
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from cordwood.cli.terminal import print_message
from cordwood.core.errors import (
    BrokerNotAvailableError,
    CordwoodError,
    KernelLibraryError,
    ListenError,
    LogDirectoryError,
    NetworkError,
    RequestTimedOutError,
    SchemaRegistryError,
    SettingError,
    SparkError,
)

GOOD: Final = 0
FOUND_WRONG: Final = 1
USAGE: Final = 2
UNREACHABLE: Final = 3
INTERRUPTED: Final = 130

_UNREACHABLE_ERRORS: Final = (
    KernelLibraryError,
    ListenError,
    LogDirectoryError,
    NetworkError,
    RequestTimedOutError,
    BrokerNotAvailableError,
    SchemaRegistryError,
    SparkError,
)
_DISK_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class CommandLineError(CordwoodError):
    """The command line is wrong in a way that typer does not know."""


@contextmanager
def exit_with_code() -> Iterator[None]:
    """Print an error of the command as one line, and exit with its code."""
    try:
        yield
    except (CordwoodError, OSError) as error:
        _exit(*failure_of(error))


def failure_of(error: CordwoodError | OSError) -> tuple[str, int]:
    """Return the message and the exit code of an error."""
    if isinstance(error, OSError):
        return _describe(error), UNREACHABLE
    if isinstance(error, SettingError | CommandLineError):
        return str(error), USAGE
    return str(error), UNREACHABLE if isinstance(error, _UNREACHABLE_ERRORS) else FOUND_WRONG


def _describe(error: OSError) -> str:
    """Return the error of the operating system, the path, and what to do."""
    remedy = "check the path"
    if isinstance(error, PermissionError):
        remedy = "run the command as a user with the required permission"
    elif error.errno in _DISK_FULL:
        remedy = "free some space, or choose another disk"
    elif error.errno == errno.EIO:
        remedy = "the disk cannot read or write it: check the system log"
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}; {remedy}"


def _exit(message: str, code: int) -> None:
    print_message(f"cordwood: {message}")
    sys.exit(code)


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a predicate that returns True after Ctrl-C; then exit with code 130.

    The command finishes its current step, so that no record is cut in two. A second Ctrl-C raises
    KeyboardInterrupt as usual.
    """
    signals: list[int] = []

    def stop(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: bool(signals)
    finally:
        signal.signal(signal.SIGINT, before)
    if signals:
        import typer  # noqa: PLC0415  # serve runs without it

        raise typer.Exit(INTERRUPTED)

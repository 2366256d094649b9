"""Output of commands: data on the standard output, messages on the standard error.

A reader that closes the pipe early, as `head` does, does not change the exit code. Text is UTF-8
in every locale; undecodable bytes of file names are printed unchanged.
"""

import os
import sys
from typing import TextIO


def print_output(text: str) -> None:
    """Print one or several lines of data."""
    write_output(f"{text}\n".encode("utf-8", "surrogateescape"))


def write_output(data: bytes) -> bool:
    """Write bytes to the standard output; return False once the reader has closed it."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        # Later writes, and the flush at exit, must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    except OSError as error:
        error.filename = "the standard output"
        raise
    return True


def print_message(text: str) -> None:
    """Print a message on the standard error, apart from the data."""
    sys.stderr.write(f"{text}\n")


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal; None is a stream that the process does not have."""
    return stream is not None and stream.isatty()


def open_streams() -> None:
    """Replace missing standard streams by the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123  # to the end

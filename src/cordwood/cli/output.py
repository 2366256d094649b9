"""What commands print: data goes to the standard output, for as long as somebody reads it.

A reader that has enough, as `head` has, does not change how a command ends. Text is UTF-8 whatever
the locale says, and bytes of file names that are none come out as they are.
"""

import os
import sys
from typing import TextIO


def say(text: str) -> None:
    """Print a line, or several."""
    write(f"{text}\n".encode("utf-8", "surrogateescape"))


def write(data: bytes) -> bool:
    """Print bytes, and return whether somebody may want more."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    except OSError as error:
        error.filename = "the standard output"
        raise
    return True


def tell(words: str) -> None:
    """Say something to who looks on; it is none of the data."""
    sys.stderr.write(f"{words}\n")


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody looks at a stream, which is None where a command was started without it."""
    return stream is not None and stream.isatty()


def open_streams() -> None:
    """Let what is printed go nowhere where a command was started without them."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123  # to the end

"""Messages of a client, printed while a command runs: a broker that is lost, or back again.

A command that reads or sends until Ctrl-C goes on while a broker is away. Without a message nothing
would explain why no record arrives.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from cordwood.cli.terminal import print_message

_CLIENT: Final = logging.getLogger("cordwood.client")


class _MessageHandler(logging.Handler):
    """Prints each message as one line."""

    def emit(self, record: logging.LogRecord) -> None:
        print_message(f"cordwood: {record.getMessage()}")


@contextmanager
def shown_client_messages() -> Iterator[None]:
    """Print the messages of clients on the standard error."""
    handler, level = _MessageHandler(logging.INFO), _CLIENT.level
    _CLIENT.addHandler(handler)
    _CLIENT.setLevel(logging.INFO)
    try:
        yield
    finally:
        _CLIENT.removeHandler(handler)
        _CLIENT.setLevel(level)

"""End of a test that goes on after its timeout (pytest-timeout: the method `signal`).

The timeout raises an error in the main thread, once. A clean-up that waits for ever after it, or a
call that never returns to Python, would hold up the whole run and leave no name. A second timer
ends the process of such a test; its last words are the stack of each thread. The controller of the
workers then reports the test as failed.
"""

import faulthandler
import os
import sys
from collections.abc import Generator
from typing import Protocol

import pytest

#: Time for the clean-up of a test whose timeout has come.
CLEAN_UP_S = 180
#: The standard error of the process, which pytest's capture does not replace.
STDERR = pytest.StashKey[int]()


class TimeoutSettings(Protocol):
    """The timeout of one test, as pytest-timeout passes it to its hooks."""

    timeout: float


def pytest_configure(config: pytest.Config) -> None:
    """Keep the standard error for the last words of the process."""
    config.stash[STDERR] = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(
    item: pytest.Item, settings: TimeoutSettings
) -> Generator[None, object, object]:
    """Start the second timer with the first."""
    stderr = item.config.stash[STDERR]
    faulthandler.dump_traceback_later(settings.timeout + CLEAN_UP_S, exit=True, file=stderr)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_timeout_cancel_timer() -> Generator[None, object, object]:
    """Stop the second timer with the first."""
    faulthandler.cancel_dump_traceback_later()
    return (yield)

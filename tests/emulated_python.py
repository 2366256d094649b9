"""Skip of tests that start a second Python where an emulator runs the first one.

qemu runs the Python of another processor, such as 64-bit ARM. The system cannot execute the file of
that Python by itself, so a process of it ends with "Exec format error".
"""

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def skip_without_second_python() -> Iterator[None]:
    """Skip the test if the system rejects the format of this process's own Python."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOEXEC or error.filename != sys.executable:
            raise
        pytest.skip("an emulated Python cannot start another one")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Skip for fixtures that start a Python."""
    with skip_without_second_python():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip for tests that start a Python."""
    with skip_without_second_python():
        return (yield)

"""Verbs that write take a log directory as a broker does, so that neither works on it meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Files
from cordwood.storage.names import LOCK


@contextmanager
def locked(files: Files, path: str) -> Iterator[None]:
    """Hold the lock of a log directory; LogDirectoryError while a broker has it."""
    try:
        lock = files.lock(f"{path}/{LOCK}")
    except BlockingIOError as error:
        raise LogDirectoryError(
            "is in use by a broker", path=path, remedy="stop it first, in order"
        ) from error
    try:
        yield
    finally:
        lock.release()

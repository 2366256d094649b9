"""Completion of several futures at once, those excepted that have been cancelled."""

from collections.abc import Iterable
from concurrent.futures import Future


def completed() -> Future[None]:
    """Return a future that is done."""
    future = Future[None]()
    future.set_result(None)
    return future


def complete_all(futures: Iterable[Future[None]], error: BaseException | None = None) -> None:
    """Complete each future, or fail it with `error`."""
    for future in futures:
        if not future.set_running_or_notify_cancel():
            continue
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

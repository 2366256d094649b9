"""Those who wait for something are told how it ended, but for those who have given up waiting."""

from collections.abc import Iterable
from concurrent.futures import Future


def settle(waiting: Iterable[Future[None]], error: BaseException | None = None) -> None:
    """Tell everybody that it is done, or what came of it instead."""
    for pending in waiting:
        if not pending.set_running_or_notify_cancel():
            continue
        if error is None:
            pending.set_result(None)
        else:
            pending.set_exception(error)

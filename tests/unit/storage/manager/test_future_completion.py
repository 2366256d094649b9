"""Futures are completed together, unless they have been cancelled."""

from concurrent.futures import Future

import pytest

from cordwood.storage.manager.future_completion import complete_all


def test_all_futures_are_completed() -> None:
    waiting: list[Future[None]] = [Future(), Future()]

    complete_all(waiting)

    assert [pending.result() for pending in waiting] == [None, None]


def test_all_futures_get_the_error() -> None:
    waiting: list[Future[None]] = [Future(), Future()]
    error = OSError("gone")

    complete_all(waiting, error)

    assert [pending.exception() for pending in waiting] == [error, error]


@pytest.mark.parametrize("error", (None, OSError("gone")))
def test_cancelled_future_is_left_alone(error: OSError | None) -> None:
    gone, there = Future[None](), Future[None]()
    gone.cancel()

    complete_all([gone, there], error)

    assert gone.cancelled()
    assert there.exception() == error

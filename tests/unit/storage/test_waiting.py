"""Whoever waits hears how it ended."""

from concurrent.futures import Future

import pytest

from cordwood.storage.waiting import settle


def test_everybody_is_told_when_it_is_done() -> None:
    waiting: list[Future[None]] = [Future(), Future()]

    settle(waiting)

    assert [pending.result() for pending in waiting] == [None, None]


def test_everybody_hears_of_the_error() -> None:
    waiting: list[Future[None]] = [Future(), Future()]
    error = OSError("gone")

    settle(waiting, error)

    assert [pending.exception() for pending in waiting] == [error, error]


@pytest.mark.parametrize("error", (None, OSError("gone")))
def test_who_has_given_up_is_left_alone(error: OSError | None) -> None:
    gone, there = Future[None](), Future[None]()
    gone.cancel()

    settle([gone, there], error)

    assert (gone.cancelled(), there.exception()) == (True, error)

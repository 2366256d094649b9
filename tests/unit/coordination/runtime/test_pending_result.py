"""Tests of results that are awaited on the loop."""

from concurrent.futures import Future

from cordwood.coordination.runtime.pending_result import result_of
from tests.unit.broker.broker_samples import meanwhile, run


def test_result_that_exists_is_returned() -> None:
    done = Future[int]()
    done.set_result(3)

    assert run(result_of(done)) == 3


def test_result_that_comes_later_is_awaited() -> None:
    later = Future[int]()

    assert run(meanwhile(result_of(later), lambda: later.set_result(3))) == ([False], 3)

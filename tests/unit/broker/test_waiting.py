"""Who waits gets the result or the error, and the loop goes on meanwhile."""

from concurrent.futures import Future

import pytest

from cordwood.broker.waiting import done
from tests.unit.broker.broker_samples import meanwhile, run


def test_waiting_ends_with_the_result() -> None:
    pending: Future[int] = Future()

    over, result = run(meanwhile(done(pending), lambda: pending.set_result(7)))

    assert (over, result) == ([False], 7)


def test_waiting_for_what_is_done_does_not_wait() -> None:
    pending: Future[int] = Future()
    pending.set_exception(OSError("gone"))

    with pytest.raises(OSError, match="gone"):
        run(done(pending))

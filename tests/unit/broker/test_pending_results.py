"""Tests of waiting for results of worker calls on the event loop."""

from concurrent.futures import Future

import pytest

from cordwood.broker.pending_results import wait_for
from tests.unit.broker.broker_samples import meanwhile, run


def test_wait_returns_the_result() -> None:
    pending: Future[int] = Future()

    over, result = run(meanwhile(wait_for(pending), lambda: pending.set_result(7)))

    assert over == [False]
    assert result == 7


def test_completed_result_needs_no_wait() -> None:
    pending: Future[int] = Future()
    pending.set_exception(OSError("gone"))

    with pytest.raises(OSError, match="gone"):
        run(wait_for(pending))

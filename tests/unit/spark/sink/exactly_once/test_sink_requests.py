"""A step receives the answer to its request."""

import pytest

from cordwood.core.errors import RequestTimedOutError
from cordwood.spark.sink.exactly_once.sink_requests import IdState, Now, ask


def test_answer_is_returned() -> None:
    steps = ask(Now())
    assert next(steps) == Now()

    with pytest.raises(StopIteration) as end:
        steps.send(5)
    assert end.value.value == 5


def test_error_is_raised_inside() -> None:
    steps = ask(Now())
    next(steps)

    with pytest.raises(RequestTimedOutError):
        steps.throw(RequestTimedOutError("no answer"))


def test_transaction_is_open_while_it_is_ongoing() -> None:
    assert IdState("Ongoing", 1, 1, 1).is_open
    assert not IdState("PrepareCommit", 1, 1, 1).is_open

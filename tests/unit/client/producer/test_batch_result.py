"""A batch's result runs each callback once."""

import asyncio
from functools import partial

import pytest

from cordwood.client.producer.batch_result import BatchResult, DeliveryReport
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import RequestTimedOutError

(PARTITION,) = partitions_of([("t", 2)])


def test_callbacks_run_before_and_after_completion() -> None:
    batch_result, response = BatchResult(PARTITION), list[str]()
    batch_result.add_callback(lambda: response.append("early"))

    batch_result.succeed(10, -1)
    batch_result.add_callback(lambda: response.append("late"))

    assert response == ["early", "late"]


@pytest.mark.parametrize("raised", (ValueError, asyncio.CancelledError))
def test_callback_that_raises_is_logged_and_the_others_run(
    raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """K-B1: an error of a callback ends in the log."""
    batch_result, response = BatchResult(PARTITION), list[str]()

    def fail() -> None:
        raise raised("callback")

    batch_result.add_callback(fail)
    batch_result.add_callback(lambda: response.append("next"))
    batch_result.succeed(10, -1)

    assert response == ["next"]
    assert "t-2: a delivery callback has raised an error" in caplog.text


def test_result_reports_each_record_with_its_own_timestamp() -> None:
    batch_result = BatchResult(PARTITION)

    batch_result.succeed(10, -1)

    assert batch_result.report(3, timestamp=99) == DeliveryReport("t", 2, 13, 99)


def test_result_reports_the_log_append_time() -> None:
    batch_result = BatchResult(PARTITION)

    batch_result.succeed(-1, 1234)

    assert batch_result.report(3, timestamp=99) == DeliveryReport("t", 2, -1, 1234)


def test_result_has_its_error() -> None:
    batch_result, error = BatchResult(PARTITION), RequestTimedOutError()

    batch_result.fail(error)

    assert batch_result.is_done
    assert batch_result.error is error


def test_split_result_forwards_to_the_part_of_each_record() -> None:
    batch_result, response = BatchResult(PARTITION), list[str]()
    for index in range(4):
        batch_result.add_callback(partial(response.append, str(index)), index)

    first, second = batch_result.split((1, 3))
    second.succeed(10, -1)
    batch_result.add_callback(partial(response.append, "late"), 3)

    assert response == ["1", "2", "3", "late"]
    assert batch_result.of_record(3) == (second, 2)
    first.fail(RequestTimedOutError())
    assert response[-1] == "0"


def test_part_of_a_split_result_can_be_split_again() -> None:
    batch_result = BatchResult(PARTITION)

    _, second = batch_result.split((2, 4))
    _, last = second.split((2, 2))

    assert batch_result.of_record(5) == (last, 1)

"""A batch's result runs each callback once."""

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

"""What becomes of a task; `tests/spark` runs tasks in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import CorruptMessageError, LogDirectoryError, SparkError
from cordwood.spark.running import Tell, error_in, outcome_of, reason_in

pytestmark = pytest.mark.spark

FAILED = """[UDF_ERROR] An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "running.py", line 90, in outcome_of
    return work(task, tell), None
ZeroDivisionError: division by zero

JVM stacktrace:
org.apache.spark.SparkException: Job aborted
"""


def divided(number: int, tell: Tell) -> int:
    tell(1)
    if number < 0:
        raise LogDirectoryError("is none", path="/logs", remedy="give another")
    return 10 // number


def test_task_has_a_result() -> None:
    told: list[int] = []

    assert outcome_of(2, divided, tell=told.append) == (5, None)
    assert told == [1]


def test_task_has_an_error_of_ours_for_a_result() -> None:
    result, error = outcome_of(-1, divided, tell=print)

    assert result is None
    assert isinstance(error, LogDirectoryError)


def test_task_leaves_other_errors_to_spark() -> None:
    with pytest.raises(ZeroDivisionError):
        outcome_of(0, divided, tell=print)


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    (
        (
            "cordwood.core.errors.bad_records.CorruptMessageError: /l: wrong (position 5)",
            CorruptMessageError,
            "/l: wrong (position 5)",
        ),
        (
            "cordwood.core.errors.tree.LogDirectoryError: /l: is none; give another",
            SparkError,
            "a task was given up: /l: is none; give another; Spark's log tells more",
        ),
        (
            "ZeroDivisionError: division by zero",
            SparkError,
            "a task was given up: ZeroDivisionError: division by zero; Spark's log tells more",
        ),
    ),
)
def test_error_is_what_spark_has_words_of(line: str, kind: type[Exception], words: str) -> None:
    error = error_in(FAILED.replace("ZeroDivisionError: division by zero", line))

    assert type(error) is kind
    assert str(error) == words


def test_reason_is_what_the_worker_raised() -> None:
    assert reason_in(FAILED) == "ZeroDivisionError: division by zero"
    assert reason_in("Job 3 cancelled") == "Job 3 cancelled"

"""Results and errors of tasks; `tests/spark` runs tasks in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import CorruptMessageError, LogDirectoryError, SparkError
from cordwood.spark.runtime.task_runner import AdvanceProgress, last_line, parse_error, run_one

pytestmark = pytest.mark.spark

FAILED = """[UDF_ERROR] An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "running.py", line 90, in outcome_of
    return work(task, advance), None
ZeroDivisionError: division by zero

JVM stacktrace:
org.apache.spark.SparkException: Job aborted
"""


def divided(number: int, advance: AdvanceProgress) -> int:
    advance(1)
    if number < 0:
        raise LogDirectoryError("is none", path="/logs", remedy="give another")
    return 10 // number


def test_task_has_a_result() -> None:
    told: list[int] = []

    assert run_one(2, divided, advance=told.append) == (5, None)
    assert told == [1]


def test_cordwood_error_is_the_result_of_a_task() -> None:
    result, error = run_one(-1, divided, advance=print)

    assert result is None
    assert isinstance(error, LogDirectoryError)


def test_other_errors_of_a_task_are_raised_to_spark() -> None:
    with pytest.raises(ZeroDivisionError):
        run_one(0, divided, advance=print)


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
            "a task failed: /l: is none; give another; see Spark's log",
        ),
        (
            "ZeroDivisionError: division by zero",
            SparkError,
            "a task failed: ZeroDivisionError: division by zero; see Spark's log",
        ),
    ),
)
def test_error_is_parsed_from_the_message_of_spark(
    line: str, kind: type[Exception], words: str
) -> None:
    error = parse_error(FAILED.replace("ZeroDivisionError: division by zero", line))

    assert type(error) is kind
    assert str(error) == words


def test_reason_is_the_error_of_the_worker() -> None:
    assert last_line(FAILED) == "ZeroDivisionError: division by zero"
    assert last_line("Job 3 cancelled") == "Job 3 cancelled"

"""Results and errors of tasks; `tests/spark` runs tasks in a session."""

from typing import TYPE_CHECKING, cast

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import (
    CorruptMessageError,
    LogDirectoryError,
    RequestTimedOutError,
    SparkError,
)
from cordwood.spark.runtime import task_runner
from cordwood.spark.runtime.task_runner import (
    AdvanceProgress,
    default_parallelism,
    last_line,
    parse_error,
    run_one,
    run_tasks,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@pytest.mark.parametrize(
    ("error", "attempts"),
    (
        (OSError(5, "input/output error"), 3),
        (RequestTimedOutError("no answer"), 3),
        (CorruptMessageError("wrong"), 1),
        (LogDirectoryError("is none", path="/logs", remedy="give another"), 1),
    ),
)
def test_error_that_may_pass_is_attempted_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception, attempts: int
) -> None:
    """The first task succeeds at once, the second never."""
    collected: list[int] = []

    def collect(frame: FakeSession) -> dict[int, tuple[int | None, Exception | None]]:
        collected.append(frame.count)
        return {0: (7, None), 1: (None, error)} if frame.count == 2 else {0: (None, error)}

    monkeypatch.setattr(task_runner, "collect_messages", collect)

    with pytest.raises(type(error)):
        run_tasks(cast("SparkSession", FakeSession()), [1, 2], work=divided, attempts=3)
    assert collected == [2, 1, 1][:attempts]


def test_session_without_a_context_has_a_default_parallelism() -> None:
    assert default_parallelism(cast("SparkSession", FakeSession())) == 8


class FakeSession:
    """A session of Spark Connect, which has no context, and its frames."""

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.conf: dict[str, str] = {}

    def range(self, *bounds: int) -> "FakeSession":
        return FakeSession(bounds[1])

    def mapInArrow(self, *_: object) -> "FakeSession":  # noqa: N802  # as Spark has it
        return self

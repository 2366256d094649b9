"""What all jobs stand on: tasks in a session, their results, errors and progress."""

import os
from typing import TYPE_CHECKING

import pytest

from cordwood.core.errors import LogDirectoryError, SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.running import Tell

pytestmark = pytest.mark.timeout(600)


class Heard:
    """Adds up what a job tells of its progress."""

    def __init__(self) -> None:
        self.size = 0

    def begin(self, what: str, total: int) -> None:
        pass

    def advance(self, size: int) -> None:
        self.size += size


def halved(number: int, tell: "Tell") -> int:
    tell(number)
    if number == 13:
        raise LogDirectoryError("is none", path="/logs", remedy="give another")
    if number == 0:
        os._exit(1)
    return number // 2


def test_tasks_have_results_in_their_order(spark: "SparkSession") -> None:
    from cordwood.spark.running import run_tasks  # noqa: PLC0415  # needs pyspark

    heard = Heard()

    assert run_tasks(spark, [30, 20, 10], work=halved, progress=heard) == [15, 10, 5]
    assert heard.size == 60
    assert run_tasks(spark, [], work=halved) == []


def test_error_of_a_task_is_raised_as_it_was_there(spark: "SparkSession") -> None:
    from cordwood.spark.running import run_tasks  # noqa: PLC0415  # needs pyspark

    with pytest.raises(LogDirectoryError, match="is none") as raised:
        run_tasks(spark, [2, 13], work=halved)

    assert raised.value.path == "/logs"


def test_worker_that_dies_is_told(spark: "SparkSession") -> None:
    from cordwood.spark.running import run_tasks  # noqa: PLC0415  # needs pyspark

    with pytest.raises(SparkError, match="a task was given up"):
        run_tasks(spark, [0], work=halved)

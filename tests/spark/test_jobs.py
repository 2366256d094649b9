"""The task runner in a session: results, errors and progress."""

import os
from typing import TYPE_CHECKING

import pytest

from cordwood.core.errors import LogDirectoryError, SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.runtime.task_runner import AdvanceProgress

pytestmark = pytest.mark.timeout(600)


class ProgressSum:
    """Sums the progress of a job."""

    def __init__(self) -> None:
        self.size = 0

    def begin(self, phase: str, total: int) -> None:
        pass

    def advance(self, size: int) -> None:
        self.size += size


def halved(number: int, advance: "AdvanceProgress") -> int:
    advance(number)
    if number == 13:
        raise LogDirectoryError("is none", path="/logs", remedy="give another")
    if number == 0:
        os._exit(1)
    return number // 2


def test_tasks_have_results_in_their_order(spark: "SparkSession") -> None:
    from cordwood.spark.runtime.task_runner import run_tasks  # noqa: PLC0415  # needs pyspark

    progress = ProgressSum()

    assert run_tasks(spark, [30, 20, 10], work=halved, progress=progress) == [15, 10, 5]
    assert progress.size == 60
    assert run_tasks(spark, [], work=halved) == []


def test_error_of_a_task_is_raised_on_the_driver(spark: "SparkSession") -> None:
    from cordwood.spark.runtime.task_runner import run_tasks  # noqa: PLC0415  # needs pyspark

    with pytest.raises(LogDirectoryError, match="is none") as raised:
        run_tasks(spark, [2, 13], work=halved)

    assert raised.value.path == "/logs"


def test_death_of_a_worker_is_an_error(spark: "SparkSession") -> None:
    from cordwood.spark.runtime.task_runner import run_tasks  # noqa: PLC0415  # needs pyspark

    with pytest.raises(SparkError, match="a task failed"):
        run_tasks(spark, [0], work=halved)

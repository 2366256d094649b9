"""The kill harness itself: a correct job passes, a wrong one is detected."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.kills import IS_SOAK, KILLS, KillableFiles, survive

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.runtime.task_runner import AdvanceProgress

PARTS = 6

pytestmark = pytest.mark.timeout(600)


def begin(world: Path) -> None:
    for number in range(PARTS):
        (world / f"from-{number}").write_bytes(bytes([number]) * 100)


def contents(world: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in world.iterdir()}


def copy(
    number: int, _advance: "AdvanceProgress", *, world: str, files: KillableFiles, name: str
) -> None:
    """Write a file with a name, which may be temporary."""
    target, written = f"{world}/to-{number}", f"{world}/{name}-{number}"
    if Path(target).exists():
        return
    Path(written).unlink(missing_ok=True)
    data = Path(f"{world}/from-{number}").read_bytes()
    file = files.create(written)
    file.append(data)
    file.close()
    if written != target:
        files.rename(written, target)


def copy_all(spark: "SparkSession", name: str, world: Path, files: KillableFiles) -> None:
    from cordwood.spark.runtime.task_runner import run_tasks  # noqa: PLC0415  # needs pyspark

    run_tasks(spark, range(PARTS), work=partial(copy, world=str(world), files=files, name=name))
    for path in sorted(world.glob("from-*")):
        files.remove(str(path))


def test_jobs_are_killed_often_enough(report: Callable[[str], None]) -> None:
    kills = sum(KILLS.values())

    assert kills >= (200 if IS_SOAK else 20)
    report(f"jobs of Spark are killed and run again: {kills} times, in {len(KILLS)} tests")


def test_harness_accepts_a_job_that_renames(spark: "SparkSession", tmp_path: Path) -> None:
    job = partial(copy_all, spark, "new")

    died = survive(job, begin, look=contents, folder=tmp_path, kills=4).died

    assert died["driver"] >= 2
    assert died["worker"] >= 2


def test_harness_detects_a_job_that_writes_in_place(spark: "SparkSession", tmp_path: Path) -> None:
    job = partial(copy_all, spark, "to")

    with pytest.raises(AssertionError, match="killed at"):
        survive(job, begin, look=contents, folder=tmp_path, kills=8)

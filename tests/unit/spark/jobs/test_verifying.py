"""Which partitions a task takes; `tests/spark` verifies in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.spark.jobs.verifying import TASK_BYTES, VerifyPlace, packed

pytestmark = pytest.mark.spark


def place(number: int, size: int) -> VerifyPlace:
    return VerifyPlace(number, f"/logs/t-{number}", None, size)


def test_large_partition_has_a_task_of_its_own() -> None:
    small, large, other = place(0, 5), place(1, 2 * TASK_BYTES), place(2, 3)

    assert packed([small, large, other]) == [(large,), (small, other)]


def test_task_takes_no_more_than_its_bytes() -> None:
    places = [place(number, TASK_BYTES // 2) for number in range(3)]

    assert [len(task) for task in packed(places)] == [2, 1]


def test_no_places_make_no_task() -> None:
    assert packed([]) == []

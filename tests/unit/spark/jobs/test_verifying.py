"""What a task of a verification finds; `tests/spark` verifies in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.verifying import TASK_BYTES, Settings, VerifyPlace, packed, verify_places
from cordwood.workbench.verify import verify
from tests.test_workbench_page import build_logs

pytestmark = pytest.mark.spark


def place(number: int, size: int) -> VerifyPlace:
    return VerifyPlace(number, f"/logs/t-{number}", None, size)


def test_large_partition_has_a_task_of_its_own() -> None:
    small, large, other = place(0, 5), place(1, 2 * TASK_BYTES), place(2, 3)

    assert packed([small, large, other]) == [[large], [small, other]]


def test_task_takes_no_more_than_its_bytes() -> None:
    places = [place(number, TASK_BYTES // 2) for number in range(3)]

    assert [len(task) for task in packed(places)] == [2, 1]


def test_no_places_make_no_task() -> None:
    assert packed([]) == []


def test_task_finds_what_the_workbench_finds(tmp_path: Path) -> None:
    build_logs(tmp_path / "logs")
    paths = [str(tmp_path / "logs" / name) for name in ("orders-1", "orders-0")]
    places = [VerifyPlace(number, path, None, 1) for number, path in enumerate(paths, 7)]
    told: list[int] = []

    found = verify_places(places, told.append, settings=Settings())

    logs = sum(each.stat().st_size for each in Path(tmp_path / "logs").rglob("*.log"))
    assert tuple(found.values()) == verify(SystemFiles(), paths).partitions
    assert list(found) == [7, 8]
    assert sum(told) == logs

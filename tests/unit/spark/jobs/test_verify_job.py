"""The task of a verification; `tests/spark` verifies in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.verify_job import (
    TASK_BYTES,
    PartitionToVerify,
    VerifySettings,
    pack_partitions,
    verify_partitions,
)
from cordwood.workbench.verdicts import verify_with_verdicts
from tests.test_workbench_page import build_logs

pytestmark = pytest.mark.spark


def place(number: int, size: int) -> PartitionToVerify:
    return PartitionToVerify(number, f"/logs/t-{number}", None, size)


def test_large_partition_has_a_task_of_its_own() -> None:
    small, large, other = place(0, 5), place(1, 2 * TASK_BYTES), place(2, 3)

    assert pack_partitions([small, large, other]) == [[large], [small, other]]


def test_task_has_at_most_its_limit() -> None:
    places = [place(number, TASK_BYTES // 2) for number in range(3)]

    assert [len(task) for task in pack_partitions(places)] == [2, 1]


def test_no_partitions_need_no_task() -> None:
    assert pack_partitions([]) == []


def test_task_has_the_findings_of_the_workbench(tmp_path: Path) -> None:
    build_logs(tmp_path / "logs")
    paths = [str(tmp_path / "logs" / name) for name in ("orders-1", "orders-0")]
    places = [PartitionToVerify(number, path, None, 1) for number, path in enumerate(paths, 7)]
    reported: list[int] = []

    found = verify_partitions(places, reported.append, settings=VerifySettings())

    logs = sum(each.stat().st_size for each in Path(tmp_path / "logs").rglob("*.log"))
    assert tuple(found.values()) == verify_with_verdicts(SystemFiles(), paths).partitions
    assert list(found) == [7, 8]
    assert sum(reported) == logs

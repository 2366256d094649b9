"""What a task of a verification finds; `tests/spark` verifies in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.spark.jobs.verifying import Settings, VerifyPlace, verify_places
from cordwood.workbench.verify import verify
from tests.test_workbench_page import build_logs

pytestmark = pytest.mark.spark


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

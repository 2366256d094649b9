"""What a task of a conversion does; `tests/spark` converts in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.records.compression import Codec
from cordwood.spark.jobs.converting import convert_task
from cordwood.workbench.convert import begun
from cordwood.workbench.convert_batches import Wanted
from tests.test_workbench_page import build_logs

pytestmark = pytest.mark.spark


def test_task_converts_a_segment(tmp_path: Path) -> None:
    build_logs(tmp_path / "logs")
    files, wanted, told = SystemFiles(), Wanted(codec=Codec.LZ4), list[int]()
    source, out = str(tmp_path / "logs/orders-0"), str(tmp_path / "new")

    with begun(files, [source], out=out, wanted=wanted) as conversion:
        task = conversion.left[0]
        convert_task(task, told.append, files=files, wanted=wanted)

        assert len(conversion.left) == 2
    assert sum(told) == task.size

"""The task of a conversion; `tests/spark` converts in a session."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from pathlib import Path

from cordwood.core.system import SystemFiles
from cordwood.records.compression import Codec
from cordwood.spark.jobs.convert_job import convert_task
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.convert import open_conversion
from tests.test_workbench_page import build_logs

pytestmark = pytest.mark.spark


def test_task_converts_a_segment(tmp_path: Path) -> None:
    build_logs(tmp_path / "logs")
    files, wanted, reported = SystemFiles(), ConvertOptions(codec=Codec.LZ4), list[int]()
    source, out = str(tmp_path / "logs/orders-0"), str(tmp_path / "new")

    with open_conversion(files, [source], out=out, options=wanted) as conversion:
        task = conversion.remaining[0]
        convert_task([task], reported.append, files=files, options=wanted)

        assert len(conversion.remaining) == 2
    assert sum(reported) == task.size

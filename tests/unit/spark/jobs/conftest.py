"""A fixture with a log to export."""

from pathlib import Path

import pytest

from tests.unit.spark.jobs.export_samples import write_log
from tests.unit.storage.segment_samples import v2


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Return a log directory with ten records in two batches."""
    return write_log(tmp_path / "logs", v2(0, 4), v2(5, 9))

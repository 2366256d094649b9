"""The benchmark of compaction by Spark runs, small, so that it cannot rot."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from benchmarks.spark import compaction

pytestmark = pytest.mark.timeout(600)


def test_compaction_is_measured_when_small() -> None:
    measured = list(compaction.figures(records=2_000, rounds=1))

    assert len({figure.name for figure in measured}) == len(measured) == 4
    assert all(figure.value > 0 for figure in measured)

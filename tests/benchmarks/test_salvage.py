"""The benchmark of salvage runs, small, so that it cannot rot."""

from benchmarks.micro.salvage import figures
from benchmarks.micro.segments import FULL, SHAPES


def test_figures_of_salvage_are_measured_when_small() -> None:
    measured = figures(FULL // 100)

    assert len({figure.name for figure in measured}) == len(measured) == 2 * len(SHAPES)
    assert all(figure.value > 0 for figure in measured)

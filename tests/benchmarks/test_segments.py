"""The benchmark of walks over many segments runs, small, so that it cannot rot."""

from benchmarks.micro.segments import FULL, OPERATIONS, SHAPES, figures


def test_figures_of_segments_are_measured_when_small() -> None:
    measured = figures(FULL // 1000)

    assert len({figure.name for figure in measured}) == len(measured)
    assert len(measured) == len(OPERATIONS) * (len(SHAPES) + 1)
    assert all(figure.value > 0 for figure in measured)

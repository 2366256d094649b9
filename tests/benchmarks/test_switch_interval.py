"""The benchmark of the switch interval runs, small, so that it cannot rot."""

from benchmarks.micro.switch_interval import INTERVALS_MS, figures


def test_figures_are_measured_when_small() -> None:
    measured = [*figures(4 << 20)]

    assert len({figure.name for figure in measured}) == len(measured) == 3 * len(INTERVALS_MS)
    assert all(figure.value > 0 for figure in measured)

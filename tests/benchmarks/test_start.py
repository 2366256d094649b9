"""The benchmark of starts runs, small, so that it cannot rot."""

from benchmarks.micro.start import figures


def test_figures_are_measured_when_small() -> None:
    measured = figures(1 << 20)

    assert len({figure.name for figure in measured}) == len(measured) == 2
    assert all(figure.value > 0 for figure in measured)

"""The benchmark of the fixture, small, so that it cannot rot."""

from benchmarks.micro.fixture import figures


def test_figures_are_measured_when_small() -> None:
    measured = list(figures(1))

    assert len({figure.name for figure in measured}) == len(measured) == 4
    assert all(figure.value > 0 for figure in measured)

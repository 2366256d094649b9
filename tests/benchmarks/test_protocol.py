"""The protocol benchmark runs, small, so that it cannot rot."""

from benchmarks.micro.protocol import figures


def test_figures_are_measured_when_small() -> None:
    measured = figures(1 << 20)

    assert len({figure.name for figure in measured}) == len(measured) == 12
    assert all(figure.value > 0 and figure.ratio for figure in measured)

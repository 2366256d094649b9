"""The benchmark of memory runs, small, so that it cannot rot."""

from benchmarks.macro.sizing import figures


def test_figures_are_measured_when_small() -> None:
    measured = list(figures(256 << 10))

    assert len({figure.name for figure in measured}) == len(measured) == 5
    assert measured[0].value > 0

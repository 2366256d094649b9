"""The benchmark of long polls runs, small, so that it cannot rot."""

from benchmarks.macro.long_polls import figures


def test_figures_are_measured_when_small() -> None:
    measured = list(figures(256 << 10))

    assert len({figure.name for figure in measured}) == len(measured) == 4
    assert all(figure.value > 0 for figure in measured)

"""The benchmark of compaction runs, small, so that it cannot rot."""

from benchmarks.macro.compaction import figures


def test_figures_are_measured_when_small() -> None:
    measured = list(figures(100_000))

    assert len({figure.name for figure in measured}) == 3
    assert all(figure.value > 0 for figure in measured)

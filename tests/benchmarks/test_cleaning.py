"""The cleaner's benchmark runs, small, so that it cannot rot."""

from benchmarks.macro.cleaning import figures


def test_figures_are_measured_when_small() -> None:
    idle, busy = figures(256 << 10)

    assert idle.value > 0
    assert busy.value > 0

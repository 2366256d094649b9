"""Tests of a rate over windows."""

from cordwood.cluster.partition.simple_rate import SimpleRate


def rate(*values: tuple[int, int], windows: int = 3) -> SimpleRate:
    """Return a rate over windows of a second, with values at times in milliseconds."""
    made = SimpleRate(windows=windows, window_ms=1_000)
    for now_ms, value in values:
        made.record(value, now_ms=now_ms)
    return made


def test_rate_without_values_is_zero() -> None:
    assert rate().measure(now_ms=5_000) == 0


def test_first_window_counts_as_a_whole_one() -> None:
    assert rate((0, 300)).measure(now_ms=1) == 300


def test_rate_falls_with_the_time_since_the_oldest_sample() -> None:
    measured = rate((0, 300), (1_000, 300))

    assert [measured.measure(now_ms=at) for at in (1_000, 2_000, 2_500)] == [600, 300, 240]


def test_sample_without_a_recent_value_is_forgotten() -> None:
    measured = rate((0, 900), (2_500, 100))

    assert measured.measure(now_ms=2_999) > 300
    # The first sample begins again at 3,000 ms, so the second one is the oldest.
    assert measured.measure(now_ms=3_000) == 100


def test_sample_that_reaches_into_the_windows_counts() -> None:
    measured = rate(*((at * 500, 50) for at in range(19)))

    # Three windows, and the sample from 6,000 ms on, whose last value came at 6,500 ms.
    assert measured.measure(now_ms=9_000) == 350 / 3

"""Bytes come as fast as they may, and no faster."""

from cordwood.compaction.pacing import Pace
from cordwood.testing.clock import VirtualClock


def paced(bytes_per_second: float) -> tuple[Pace, VirtualClock]:
    """Return a pace whose waiting lets time pass."""
    clock = VirtualClock()
    return Pace(bytes_per_second, clock, lambda seconds: clock.advance(seconds=seconds)), clock


def test_bytes_take_as_long_as_they_have_to() -> None:
    pace, clock = paced(1000)

    for _ in range(10):
        pace.spend(500)

    assert clock.monotonic_ms() == 5000


def test_who_was_late_catches_up_for_a_third_of_a_second_only() -> None:
    pace, clock = paced(1000)
    clock.advance(seconds=60)

    pace.spend(1000)

    assert clock.monotonic_ms() == 60_700


def test_pace_changes_at_once() -> None:
    pace, clock = paced(1000)
    pace.spend(1000)

    pace.bytes_per_second = 100
    pace.spend(100)

    assert clock.monotonic_ms() == 2000

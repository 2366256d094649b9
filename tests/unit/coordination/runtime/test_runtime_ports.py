"""Tests of the turns of a runtime."""

from tests.unit.coordination.runtime.runtime_samples import RuntimeHarness


def test_turn_is_over_after_two_milliseconds_of_real_time() -> None:
    harness = RuntimeHarness()
    end_ms = harness.ports.turn_end()

    before = harness.ports.is_over(end_ms)
    harness.network_clock.advance(ms=2)

    assert (before, harness.ports.is_over(end_ms)) == (False, True)

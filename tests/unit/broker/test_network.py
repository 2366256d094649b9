"""The network's time is one clock and what is scheduled by it."""

from cordwood.broker.network import Network
from cordwood.testing.clock import VirtualClock


def test_network_schedules_by_its_own_clock() -> None:
    clock, calls = VirtualClock(), list[str]()
    network = Network(clock, clock)

    network.scheduler.call_at(network.clock.monotonic_ms() + 5, lambda: calls.append("due"))
    clock.advance(ms=5)

    assert calls == ["due"]

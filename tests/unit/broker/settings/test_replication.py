"""Tests of the settings of replication."""

from cordwood.broker.settings.replication import REPLICATION


def test_follower_waits_for_less_than_makes_it_fall_out() -> None:
    wait_ms = REPLICATION["replica.fetch.wait.max.ms"].default
    lag_ms = REPLICATION["replica.lag.time.max.ms"].default

    assert isinstance(wait_ms, int)
    assert isinstance(lag_ms, int)
    assert wait_ms < lag_ms

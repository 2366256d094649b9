"""Tests of the settings of replication."""

from cordwood.broker.settings.replication import REPLICATION


def test_follower_wait_time_is_below_the_replica_lag_limit() -> None:
    wait_ms = REPLICATION["replica.fetch.wait.max.ms"].default
    lag_ms = REPLICATION["replica.lag.time.max.ms"].default

    assert isinstance(wait_ms, int)
    assert isinstance(lag_ms, int)
    assert wait_ms < lag_ms

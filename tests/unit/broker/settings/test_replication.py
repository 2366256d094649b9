"""Tests of the settings of replication."""

import pytest

from cordwood.broker.settings.replication import RACK_AWARE_SELECTOR, REPLICATION
from cordwood.core.errors import SettingError


def test_follower_wait_time_is_below_the_replica_lag_limit() -> None:
    wait_ms = REPLICATION["replica.fetch.wait.max.ms"].default
    lag_ms = REPLICATION["replica.lag.time.max.ms"].default

    assert isinstance(wait_ms, int)
    assert isinstance(lag_ms, int)
    assert wait_ms < lag_ms


def test_replica_selector_is_the_rack_aware_one_or_none() -> None:
    selector = REPLICATION["replica.selector.class"]

    assert selector.default is None
    assert selector.parse(RACK_AWARE_SELECTOR) == RACK_AWARE_SELECTOR
    with pytest.raises(SettingError):
        selector.parse("com.example.OwnSelector")

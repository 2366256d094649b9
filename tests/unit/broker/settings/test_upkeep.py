"""Intervals of upkeep."""

from cordwood.broker.settings.upkeep import UPKEEP


def test_interval_is_at_least_a_millisecond() -> None:
    for setting in UPKEEP:
        if setting.name.endswith(".interval.ms"):
            assert setting.at_least == 1, setting.name

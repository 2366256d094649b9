"""Tests of the settings of log maintenance."""

from cordwood.broker.settings.log_maintenance import LOG_MAINTENANCE


def test_interval_is_at_least_a_millisecond() -> None:
    for setting in LOG_MAINTENANCE:
        if setting.name.endswith(".interval.ms"):
            assert setting.at_least == 1, setting.name

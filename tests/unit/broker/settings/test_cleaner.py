"""Tests of the settings of the log cleaner."""

from cordwood.broker.settings.cleaner import CLEANER
from cordwood.core.settings import SettingScope


def test_all_settings_are_dynamic_except_log_cleaner_enable() -> None:
    fixed = [each.name for each in CLEANER if each.scope is not SettingScope.CLUSTER]

    assert fixed == ["log.cleaner.enable"]

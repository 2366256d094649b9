"""Wire codes of configurations."""

from cordwood.core.config_codes import TYPE_CODES, ConfigSource, ResourceType
from cordwood.core.settings import SettingType


def test_numbers_are_kafkas() -> None:
    assert [each.value for each in ResourceType] == [2, 4, 8, 16, 32]
    assert [each.value for each in ConfigSource] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert TYPE_CODES[SettingType.BOOLEAN] == 1
    assert TYPE_CODES[SettingType.PASSWORD] == 9


def test_each_type_of_settings_has_a_unique_number() -> None:
    assert set(TYPE_CODES) == set(SettingType)
    assert len({*TYPE_CODES.values()}) == len(TYPE_CODES)

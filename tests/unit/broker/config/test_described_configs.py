"""Tests of described settings."""

from cordwood.broker.config.described_configs import (
    DescribedSynonym,
    describe_setting,
    find_synonyms,
)
from cordwood.core.config_codes import ConfigSource
from cordwood.core.settings import (
    ResolvedSetting,
    Setting,
    SettingScope,
    SettingSource,
    SettingType,
)

RATIO = Setting(
    name="ratio", type=SettingType.DOUBLE, default=0.5, doc="A share.", scope=SettingScope.CLUSTER
)


def test_description_has_value_type_and_documentation() -> None:
    shown = describe_setting(
        RATIO, ResolvedSetting(1e7, "ratio", "/etc/server.properties"), synonyms=[]
    )

    assert (shown.value, shown.source) == ("1.0E7", ConfigSource.STATIC_BROKER)
    assert (shown.type, shown.documentation, shown.is_read_only) == (6, "A share.", False)


def test_synonyms_are_ordered_by_source_then_name_and_end_with_defaults() -> None:
    sources = [SettingSource("topic", {"b": "2"}), SettingSource("file", {"b": "3", "a": "4"})]

    assert [*find_synonyms(["a", "b"], sources, defaults={"a": None, "b": 5})] == [
        DescribedSynonym("b", "2", ConfigSource.DYNAMIC_TOPIC),
        DescribedSynonym("a", "4", ConfigSource.STATIC_BROKER),
        DescribedSynonym("b", "3", ConfigSource.STATIC_BROKER),
        DescribedSynonym("b", "5", ConfigSource.DEFAULT),
    ]

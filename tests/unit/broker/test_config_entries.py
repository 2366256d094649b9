"""What is shown of one setting."""

from cordwood.broker.config_entries import ConfigSynonym, entry, said
from cordwood.core.config_codes import ConfigSource
from cordwood.core.settings import Resolved, Scope, Setting, SettingType, Source

RATIO = Setting(
    name="ratio", type=SettingType.DOUBLE, default=0.5, doc="A share.", scope=Scope.CLUSTER
)


def test_entry_tells_value_type_and_documentation() -> None:
    shown = entry(RATIO, Resolved(1e7, "ratio", "/etc/server.properties"), synonyms=[])

    assert (shown.value, shown.source) == ("1.0E7", ConfigSource.STATIC_BROKER)
    assert (shown.type, shown.documentation, shown.is_read_only) == (6, "A share.", False)


def test_said_goes_by_source_then_by_name_and_ends_with_defaults() -> None:
    sources = [Source("topic", {"b": "2"}), Source("file", {"b": "3", "a": "4"})]

    assert [*said(["a", "b"], sources, defaults={"a": None, "b": 5})] == [
        ConfigSynonym("b", "2", ConfigSource.DYNAMIC_TOPIC),
        ConfigSynonym("a", "4", ConfigSource.STATIC_BROKER),
        ConfigSynonym("b", "3", ConfigSource.STATIC_BROKER),
        ConfigSynonym("b", "5", ConfigSource.DEFAULT),
    ]

"""Tests of broker-wide defaults of topic settings."""

from cordwood.broker.settings.topic_defaults import SYNONYMS, TOPIC_DEFAULTS
from cordwood.core.settings import SettingScope, SettingType


def test_default_for_topics_has_type_bounds_and_value_of_the_topic_s() -> None:
    setting = TOPIC_DEFAULTS["log.segment.bytes"]

    assert (setting.type, setting.default) == (SettingType.INT, 1 << 30)
    assert (setting.at_least, setting.scope) == (1 << 20, SettingScope.CLUSTER)
    assert setting.doc.startswith("The default of segment.bytes: ")


def test_time_of_several_names_has_its_default_in_the_last() -> None:
    times = [TOPIC_DEFAULTS[name] for name in SYNONYMS["log.retention.ms"]]

    assert [each.default for each in times] == [None, None, 168]
    assert [each.scope for each in times] == [
        SettingScope.CLUSTER,
        SettingScope.STATIC,
        SettingScope.STATIC,
    ]


def test_name_that_topics_share_stays() -> None:
    assert TOPIC_DEFAULTS["min.insync.replicas"].default == 1


def test_names_of_a_time_are_synonyms_of_each_other() -> None:
    assert (
        SYNONYMS["log.roll.hours"] == SYNONYMS["log.roll.ms"] == ("log.roll.ms", "log.roll.hours")
    )
    assert "log.flush.scheduler.interval.ms" not in SYNONYMS

"""Tests of described settings."""

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    topic_resource,
)
from cordwood.broker.config.described_configs import (
    DescribedConfig,
    DescribedSynonym,
    find_synonyms,
)
from cordwood.core.config_codes import UNKNOWN_TYPE, ConfigSource, ResourceType
from cordwood.core.settings import SettingSource

BROKER = ConfigResource(ResourceType.BROKER, "1")
TOPIC = topic_resource("orders")


def shown(
    name: str, texts: dict[str, str], resource: ConfigResource = BROKER
) -> DescribedConfig | None:
    configs = BrokerConfigs(1, [SettingSource("/etc/server.properties", texts)])
    return next(iter(configs.describe(resource, [name])), None)


def test_description_has_value_type_and_documentation() -> None:
    entry = shown("log.cleaner.io.buffer.load.factor", {"log.cleaner.io.buffer.load.factor": "1e7"})

    assert entry is not None
    assert (entry.value, entry.source) == ("1.0E7", ConfigSource.STATIC_BROKER)
    assert (entry.type, entry.is_read_only) == (6, False)
    assert entry.documentation


def test_synonyms_are_ordered_by_source_then_name_and_end_with_defaults() -> None:
    sources = [
        SettingSource("dynamic broker", {"log.roll.ms": "2"}),
        SettingSource("file", {"log.roll.hours": "3", "log.roll.ms": "4"}),
    ]

    assert [*find_synonyms("log.roll.ms", sources)] == [
        DescribedSynonym("log.roll.ms", "2", ConfigSource.DYNAMIC_BROKER),
        DescribedSynonym("log.roll.ms", "4", ConfigSource.STATIC_BROKER),
        DescribedSynonym("log.roll.hours", "3", ConfigSource.STATIC_BROKER),
        DescribedSynonym("log.roll.hours", "168", ConfigSource.DEFAULT),
    ]


@pytest.mark.parametrize(
    ("name", "key", "text", "value"),
    (
        ("retention.ms", "log.retention.hours", "1", "3600000"),
        ("segment.ms", "log.roll.hours", "1", "3600000"),
        ("segment.jitter.ms", "log.roll.jitter.hours", "1", "3600000"),
        ("flush.ms", "log.flush.scheduler.interval.ms", "9", "9"),
    ),
)
def test_topic_s_time_from_a_name_in_other_units_has_no_synonyms(
    name: str, key: str, text: str, value: str
) -> None:
    """Kafka shows such a time as a default."""
    entry = shown(name, {key: text}, TOPIC)

    assert entry is not None
    assert (entry.value, entry.source, entry.synonyms) == (value, ConfigSource.DEFAULT, ())


def test_older_names_are_settings_of_their_own() -> None:
    broker_id = shown("broker.id", {"node.id": "7"})
    node_id = shown("node.id", {"broker.id": "7"})
    log_dir = shown("log.dir", {"log.dir": "/a", "log.dirs": "/b"})

    assert broker_id is not None
    assert broker_id.synonyms == (
        DescribedSynonym("broker.id", "7", ConfigSource.STATIC_BROKER),
        DescribedSynonym("broker.id", "-1", ConfigSource.DEFAULT),
    )
    assert node_id is not None
    assert (node_id.value, node_id.source) == ("7", ConfigSource.STATIC_BROKER)
    assert log_dir is not None
    assert (log_dir.value, log_dir.source) == ("/a", ConfigSource.STATIC_BROKER)


def test_broker_without_an_id_shows_the_effective_one() -> None:
    entry = shown("broker.id", {})

    assert entry is not None
    assert (entry.value, entry.source) == ("1", ConfigSource.DEFAULT)


def test_internal_setting_is_shown_only_if_it_is_given() -> None:
    name = "log.initial.task.delay.ms"

    assert shown(name, {}) is None
    assert shown(name, {name: "5"}) is not None


def test_name_that_is_not_declared_is_shown_without_its_value() -> None:
    entry = shown("zookeeper.ssl.protocol", {"zookeeper.ssl.protocol": "secret:1"})

    assert entry is not None
    assert (entry.value, entry.type, entry.is_sensitive) == (None, UNKNOWN_TYPE, True)
    assert entry.synonyms == (
        DescribedSynonym("zookeeper.ssl.protocol", None, ConfigSource.STATIC_BROKER),
    )


def test_listener_s_key_is_read_only_and_has_its_general_name_as_a_synonym() -> None:
    key = "listener.name.inside.max.connections"

    entry = shown(key, {key: "5", "max.connections": "9"})

    assert entry is not None
    assert (entry.value, entry.is_read_only) == ("5", True)
    assert [each.name for each in entry.synonyms] == [key, "max.connections", "max.connections"]


def test_setting_without_an_effect_is_shown_as_kafka_shows_it() -> None:
    entry = shown("num.io.threads", {"num.io.threads": "4"})

    assert entry is not None
    assert (entry.value, entry.source, entry.is_read_only) == (
        "4",
        ConfigSource.STATIC_BROKER,
        False,
    )
    assert entry.documentation.startswith("No effect: ")


def test_altered_setting_is_shown_at_once() -> None:
    configs = BrokerConfigs(1, [])
    configs.describe(BROKER)

    configs.apply(ALL_BROKERS, {"num.io.threads": "4"})
    (entry,) = configs.describe(BROKER, ["num.io.threads"])

    assert (entry.value, entry.source) == ("4", ConfigSource.DYNAMIC_DEFAULT_BROKER)


def test_group_s_setting_has_its_own_value_before_those_of_the_broker() -> None:
    name, broker_name = "consumer.session.timeout.ms", "group.consumer.session.timeout.ms"
    configs = BrokerConfigs(1, [SettingSource("file", {broker_name: "50000"})])
    configs.apply(group_resource("billing"), {name: " 55000 "})

    (own,) = configs.describe(group_resource("billing"), [name])
    (inherited,) = configs.describe(group_resource("other"), [name])

    of_broker = (
        DescribedSynonym(broker_name, "50000", ConfigSource.STATIC_BROKER),
        DescribedSynonym(broker_name, "45000", ConfigSource.DEFAULT),
    )
    assert (own.value, own.source) == ("55000", ConfigSource.DYNAMIC_GROUP)
    assert own.synonyms == (
        DescribedSynonym(name, "55000", ConfigSource.DYNAMIC_GROUP),
        *of_broker,
    )
    assert (inherited.value, inherited.source) == ("50000", ConfigSource.STATIC_BROKER)
    assert inherited.synonyms == of_broker


def test_group_s_setting_without_a_broker_s_has_its_default_as_a_synonym() -> None:
    entry = shown("share.isolation.level", {}, group_resource("billing"))

    assert entry is not None
    assert (entry.value, entry.is_read_only) == ("read_uncommitted", False)
    assert entry.synonyms == (
        DescribedSynonym("share.isolation.level", "read_uncommitted", ConfigSource.DEFAULT),
    )

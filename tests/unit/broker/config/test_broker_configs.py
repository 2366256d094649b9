"""Tests of effective configurations, their description and their change callbacks."""

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    resource_of_request,
    topic_resource,
)
from cordwood.broker.config.described_configs import DescribedConfig, DescribedSynonym
from cordwood.core.config_codes import ConfigSource, ResourceType
from cordwood.core.errors import InvalidConfigError, InvalidRequestError, SettingError
from cordwood.core.settings import SettingSource

ORDERS = topic_resource("orders")
BILLING = group_resource("billing")
BROKER = ConfigResource(ResourceType.BROKER, "1")
CLEANER = "log.cleaner.threads"


def given(**texts: str) -> BrokerConfigs:
    named = {name.replace("_", "."): text for name, text in texts.items()}
    return BrokerConfigs(1, [SettingSource("server.properties", named)])


def shown(configs: BrokerConfigs, name: str, resource: ConfigResource = BROKER) -> DescribedConfig:
    (found,) = configs.describe(resource, [name])
    return found


def test_configs_prefer_the_command_line_to_the_environment_and_that_to_the_file() -> None:
    sources = [SettingSource(name, {"num.partitions": text}) for name, text in ("a3", "b2", "c1")]

    values = [BrokerConfigs(1, sources[at:]).integer("num.partitions") for at in range(3)]

    assert values == [3, 2, 1]


def test_broker_value_overrides_the_cluster_s_and_both_override_startup_sources() -> None:
    configs = given(log_cleaner_threads="2")

    values = [configs.integer(CLEANER)]
    for resource, text in ((ALL_BROKERS, "3"), (BROKER, "4")):
        configs.apply(resource, {CLEANER: text})
        values.append(configs.integer(CLEANER))

    assert values == [2, 3, 4]
    assert [(each.value, each.source) for each in shown(configs, CLEANER).synonyms] == [
        ("4", ConfigSource.DYNAMIC_BROKER),
        ("3", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        ("2", ConfigSource.STATIC_BROKER),
        ("1", ConfigSource.DEFAULT),
    ]


def test_configs_have_a_value_of_every_type() -> None:
    configs = given(broker_rack="east", log_dirs="/a,/b", ssl_key_password="secret")

    assert configs.text("broker.rack") == "east"
    assert configs.text("inter.broker.listener.name") == ""
    assert configs.words("log.dirs") == ("/a", "/b")
    assert configs.boolean("auto.create.topics.enable") is True
    assert configs.number("log.cleaner.io.buffer.load.factor") == 0.9
    assert configs.secret("ssl.key.password") == "secret"
    assert configs.secret("ssl.keystore.password") is None


def test_listener_setting_overrides_that_of_all_listeners() -> None:
    configs = given(listener_name_inside_max_connections="5", max_connections="9")

    assert configs.integer("listener.name.inside.max.connections") == 5
    assert configs.integer("listener.name.outside.max.connections") == 9


def test_topic_settings_override_the_broker_defaults() -> None:
    configs = given(log_retention_hours="1", log_segment_bytes="2000000")

    configs.apply(ORDERS, {"retention.ms": "5"})

    assert configs.config_for("orders").retention_ms == 5
    assert configs.config_for("orders").segment_bytes == 2_000_000
    assert configs.config_for("others").retention_ms == 3_600_000


def test_synonyms_of_a_topic_are_by_precedence() -> None:
    configs = given(log_retention_hours="1", log_retention_ms="7")

    configs.apply(ORDERS, {"retention.ms": " 5 "})
    entry = shown(configs, "retention.ms", ORDERS)

    assert (entry.value, entry.source, entry.type) == ("5", ConfigSource.DYNAMIC_TOPIC, 5)
    assert entry.synonyms == (
        DescribedSynonym("retention.ms", " 5 ", ConfigSource.DYNAMIC_TOPIC),
        DescribedSynonym("log.retention.ms", "7", ConfigSource.STATIC_BROKER),
        DescribedSynonym("log.retention.hours", "1", ConfigSource.STATIC_BROKER),
        DescribedSynonym("log.retention.hours", "168", ConfigSource.DEFAULT),
    )


def test_topic_shows_the_broker_s_hours_as_milliseconds() -> None:
    entry = shown(given(log_roll_hours="1"), "segment.ms", ORDERS)

    assert (entry.value, entry.source) == ("3600000", ConfigSource.DEFAULT)


def test_broker_shows_each_key_of_a_retention_time_as_configured() -> None:
    configs = given(log_retention_hours="1")

    assert shown(configs, "log.retention.ms").value is None
    assert shown(configs, "log.retention.hours").value == "1"
    assert shown(configs, "log.retention.ms").synonyms == ()
    assert [each.value for each in shown(configs, "log.retention.hours").synonyms] == ["1", "168"]


def test_secret_is_never_shown() -> None:
    entry = shown(given(ssl_key_password="secret"), "ssl.key.password")

    assert entry.is_sensitive
    assert entry.value is None
    assert entry.synonyms == (
        DescribedSynonym("ssl.key.password", None, ConfigSource.STATIC_BROKER),
    )


def test_listener_key_is_shown_when_it_is_configured() -> None:
    key = "listener.name.inside.ssl.keystore.location"

    assert given().describe(BROKER, [key]) == []
    assert shown(given(**{key.replace(".", "_"): "/a.pem"}), key).value == "/a.pem"


def test_static_settings_are_read_only() -> None:
    assert shown(given(), "num.partitions").is_read_only
    assert not shown(given(), CLEANER).is_read_only


def test_all_brokers_describe_only_their_own_settings() -> None:
    configs = given()

    configs.apply(ALL_BROKERS, {CLEANER: "3"})

    (entry,) = configs.describe(ALL_BROKERS)
    assert (entry.name, entry.value) == (CLEANER, "3")
    assert entry.source is ConfigSource.DYNAMIC_DEFAULT_BROKER


def test_change_calls_only_the_callbacks_of_its_setting() -> None:
    configs, calls = given(), list[str]()
    configs.on_change([CLEANER], lambda: calls.append(f"threads {configs.integer(CLEANER)}"))
    configs.on_change(["max.connections"], lambda: calls.append("connections"))

    configs.apply(BROKER, {CLEANER: "2"})
    configs.apply(ALL_BROKERS, {CLEANER: "3"})
    configs.apply(BROKER, {})

    assert calls == ["threads 2", "threads 3"]


def test_change_of_a_listener_setting_calls_the_callback_of_its_base_name() -> None:
    configs, calls = given(), list[str]()
    configs.on_change(["ssl.keystore.location"], lambda: calls.append("new certificate"))

    configs.apply(BROKER, {"listener.name.inside.ssl.keystore.location": "/a.pem"})

    assert calls == ["new certificate"]


def test_topic_callback_gets_the_topic_or_none_for_all_topics() -> None:
    configs, told = given(), list[str | None]()
    configs.on_topic_change(told.append)

    configs.apply(ORDERS, {"retention.ms": "5"})
    configs.apply(BROKER, {"log.segment.bytes": "2000000"})
    configs.apply(BROKER, {"log.segment.bytes": "2000000", CLEANER: "2"})
    segment_bytes = configs.config_for("orders").segment_bytes
    configs.apply(ORDERS, {})

    assert told == ["orders", None, "orders"]
    assert segment_bytes == 2_000_000
    assert configs.config_for("orders") == configs.config_for("others")


def test_planned_alteration_has_no_effect_until_it_is_applied() -> None:
    configs = given()

    texts = configs.plan_alteration(
        ORDERS, [ConfigAlteration("retention.ms", AlterOperation.SET, "5")]
    )

    assert texts == {"retention.ms": "5"}
    assert configs.texts(ORDERS) == {}


def test_replacement_has_only_the_given_texts() -> None:
    configs = given()
    configs.apply(ORDERS, {"segment.ms": "7"})

    assert configs.plan_replacement(ORDERS, [("retention.ms", "5")]) == {"retention.ms": "5"}


def test_alteration_that_contradicts_the_broker_s_values_is_rejected() -> None:
    configs = given(log_cleaner_max_compaction_lag_ms="5")

    with pytest.raises(InvalidConfigError, match=r"min.compaction.lag.ms \(10\) > max"):
        configs.plan_alteration(
            ORDERS, [ConfigAlteration("min.compaction.lag.ms", AlterOperation.SET, "10")]
        )
    with pytest.raises(InvalidRequestError, match=r"min.compaction.lag.ms \(10\) > max"):
        configs.plan_replacement(BROKER, [("log.cleaner.min.compaction.lag.ms", "10")])


def test_topic_keeps_its_value_if_a_new_broker_value_contradicts_it() -> None:
    configs = given()
    configs.apply(ORDERS, configs.plan_replacement(ORDERS, [("min.compaction.lag.ms", "10")]))
    changed = configs.plan_replacement(ALL_BROKERS, [("log.cleaner.max.compaction.lag.ms", "5")])

    configs.apply(ALL_BROKERS, changed)

    lives_by = configs.config_for("orders")
    assert (lives_by.min_compaction_lag_ms, lives_by.max_compaction_lag_ms) == (10, 5)


def test_retention_time_of_0_is_rejected_for_a_running_broker() -> None:
    with pytest.raises(InvalidRequestError, match=r"log.retention.ms"):
        given().plan_alteration(
            BROKER, [ConfigAlteration("log.retention.ms", AlterOperation.SET, "0")]
        )


def test_broker_default_that_topics_reject_is_rejected_at_startup() -> None:
    with pytest.raises(SettingError, match=r"log.roll.ms .* below 1"):
        given(log_roll_ms="0")


@pytest.mark.parametrize(
    ("code", "name", "told"),
    (
        (3, "x", "Unsupported resource type: 3"),
        (2, "", "Default topic resources"),
        (4, "7", "Unexpected broker id, expected 1 or empty string, but received 7"),
    ),
)
def test_foreign_resource_is_rejected(code: int, name: str, told: str) -> None:
    with pytest.raises(InvalidRequestError, match=told):
        resource_of_request(code, name, node_id=1)


def test_group_callback_gets_the_group() -> None:
    configs, told = given(), list[str]()
    configs.on_group_change(told.append)

    configs.apply(BILLING, {"consumer.session.timeout.ms": "50000"})
    configs.apply(ORDERS, {"retention.ms": "5"})
    groups = configs.groups()
    configs.apply(BILLING, {})

    assert told == ["billing", "billing"]
    assert (groups, configs.groups()) == (["billing"], [])


def test_group_has_the_numbers_that_it_sets_itself() -> None:
    configs = given(group_consumer_heartbeat_interval_ms="6000")
    configs.apply(BILLING, {"consumer.session.timeout.ms": "50000"})

    assert configs.group_numbers("billing") == {"consumer.session.timeout.ms": 50_000}
    assert configs.group_numbers("other") == {}


def test_group_s_value_must_be_within_the_broker_s_bounds() -> None:
    configs = given(group_consumer_min_session_timeout_ms="10000")
    configs.plan_replacement(BILLING, [("consumer.session.timeout.ms", "10000")])

    with pytest.raises(InvalidConfigError, match=r"must be greater than or equal to group\.cons"):
        configs.plan_replacement(BILLING, [("consumer.session.timeout.ms", "9999")])


def test_stored_value_of_a_group_is_described_beyond_the_broker_s_bounds() -> None:
    configs = given()
    configs.apply(BILLING, {"consumer.session.timeout.ms": "9999"})

    (entry,) = configs.describe(BILLING, ["consumer.session.timeout.ms"])

    assert entry.value == "9999"


def test_group_inherits_each_new_value_of_the_broker() -> None:
    configs, name = given(), "consumer.assignment.interval.ms"
    before = configs.describe(BILLING, [name])

    configs.apply(BROKER, {f"group.{name}": "2000"})

    (entry,) = configs.describe(BILLING, [name])
    assert (before[0].value, entry.value) == ("1000", "2000")
    assert entry.source is ConfigSource.DYNAMIC_BROKER

"""Tests of planned alterations of a configuration."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from cordwood.broker.config.config_alterations import (
    AlterOperation,
    ConfigAlteration,
    plan_alteration,
    plan_replacement,
)
from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    topic_resource,
)
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import ClientFaultError, InvalidConfigError, InvalidRequestError

TOPIC = topic_resource("orders")
GROUP = group_resource("billing")
BROKER = ConfigResource(ResourceType.BROKER, "1")
SET, DELETE, APPEND, SUBTRACT = AlterOperation


def planned(
    operation: AlterOperation,
    name: str,
    value: str | None,
    resource: ConfigResource = TOPIC,
    current: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    return plan_alteration(current, [ConfigAlteration(name, operation, value)], resource=resource)


def test_set_and_delete_keep_other_settings() -> None:
    texts = planned(SET, "retention.ms", "5", current={"segment.ms": "7"})

    assert texts == {"segment.ms": "7", "retention.ms": "5"}
    assert plan_alteration(
        texts, [ConfigAlteration("segment.ms", DELETE, None)], resource=TOPIC
    ) == {"retention.ms": "5"}


def test_delete_ignores_a_missing_setting() -> None:
    assert planned(DELETE, "nobody.knows", None) == {}
    assert planned(DELETE, "num.partitions", None, BROKER) == {}


def test_append_adds_to_the_default_and_subtract_removes_from_it() -> None:
    assert planned(APPEND, "cleanup.policy", "compact") == {"cleanup.policy": "delete,compact"}
    assert planned(SUBTRACT, "cleanup.policy", "delete") == {"cleanup.policy": ""}


def test_append_adds_no_duplicates_and_subtract_removes_present_elements() -> None:
    both = {"cleanup.policy": "delete,compact"}

    assert planned(APPEND, "cleanup.policy", "compact", current=both) == planned(
        SUBTRACT, "cleanup.policy", "nothing", current=both
    )
    assert planned(SUBTRACT, "cleanup.policy", "delete,compact", current=both) == {
        "cleanup.policy": ""
    }


def test_replacement_has_only_the_given_texts() -> None:
    assert plan_replacement([("retention.ms", "5")], TOPIC) == {"retention.ms": "5"}
    assert plan_replacement([], TOPIC) == {}


def test_duplicate_name_is_rejected() -> None:
    twice = [
        ConfigAlteration("retention.ms", SET, "1"),
        ConfigAlteration("retention.ms", DELETE, None),
    ]

    with pytest.raises(InvalidRequestError, match=r"^Error due to duplicate config keys$"):
        plan_alteration({}, twice, resource=TOPIC)
    with pytest.raises(InvalidRequestError, match=r"^Error due to duplicate config keys$"):
        plan_replacement([("retention.ms", "1"), ("retention.ms", "1")], TOPIC)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    (
        ("nope", "1", "Unknown topic config name: nope"),
        (
            "log.retention.ms",
            "1",
            "Unknown topic config name: log.retention.ms; did you mean local.retention.ms?",
        ),
        (
            "segment.bytes",
            "abc",
            "Invalid value abc for configuration segment.bytes: Not a number of type INT",
        ),
        (
            "segment.bytes",
            "1",
            "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576",
        ),
        (
            "segment.bytes",
            "99999999999",
            "Invalid value 99999999999 for configuration segment.bytes: Not a number of type INT",
        ),
        (
            "preallocate",
            "maybe",
            (
                "Invalid value maybe for configuration preallocate:"
                " Expected value to be either true or false"
            ),
        ),
        (
            "min.cleanable.dirty.ratio",
            "2",
            (
                "Invalid value 2.0 for configuration min.cleanable.dirty.ratio:"
                " Value must be no more than 1"
            ),
        ),
        (
            "cleanup.policy",
            "delete,foo",
            (
                "Invalid value foo for configuration cleanup.policy:"
                " String must be one of: compact, delete"
            ),
        ),
        (
            "remote.storage.enable",
            "true",
            "remote.storage.enable cannot be true: there is no remote storage",
        ),
    ),
)
def test_invalid_alteration_of_a_topic_is_rejected(name: str, value: str, told: str) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        planned(SET, name, value)

    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("resource", "name", "told"),
    (
        (BROKER, "num.partitions", "Cannot update these configs dynamically: [num.partitions]"),
        (BROKER, "process.roles", "Cannot update these configs dynamically: [process.roles]"),
        (BROKER, "zookeeper.ssl.a", "Cannot update these configs dynamically: [zookeeper.ssl.a]"),
        (
            ALL_BROKERS,
            "num.io.threads",
            "Invalid value x for configuration num.io.threads: Not a number of type INT",
        ),
        (
            ALL_BROKERS,
            "sasl.kerberos.service.name",
            (
                "Cannot update these configs at default cluster level, broker id must be specified:"
                " [sasl.kerberos.service.name]"
            ),
        ),
        (
            BROKER,
            "ssl.keystore.location",
            (
                "These security configs can be dynamically updated only per-listener"
                " using the listener prefix: [ssl.keystore.location]"
            ),
        ),
        (
            ALL_BROKERS,
            "listener.name.inside.ssl.keystore.location",
            (
                "Cannot update these configs at default cluster level, broker id must be specified:"
                " [listener.name.inside.ssl.keystore.location]"
            ),
        ),
        (
            ALL_BROKERS,
            "log.cleaner.threads",
            "Invalid value x for configuration log.cleaner.threads: Not a number of type INT",
        ),
        (BROKER, "nope.nope", "Unknown broker config name: nope.nope"),
    ),
)
def test_invalid_alteration_of_a_broker_is_rejected(
    resource: ConfigResource, name: str, told: str
) -> None:
    with pytest.raises(ClientFaultError) as caught:
        planned(SET, name, "x", resource)

    assert str(caught.value) == told
    assert isinstance(caught.value, InvalidConfigError) == told.startswith("Unknown")


@pytest.mark.parametrize(
    ("resource", "name", "value"),
    (
        (ALL_BROKERS, "num.io.threads", "16"),
        (ALL_BROKERS, "num.network.threads", "4"),
        (ALL_BROKERS, "background.threads", "5"),
        (ALL_BROKERS, "metric.reporters", ""),
        (ALL_BROKERS, "remote.fetch.max.wait.ms", "5"),
        (BROKER, "num.io.threads", "16"),
        (BROKER, "sasl.kerberos.service.name", "kafka"),
        (BROKER, "listener.name.inside.num.network.threads", "4"),
    ),
)
def test_setting_without_an_effect_is_altered_where_kafka_alters_it(
    resource: ConfigResource, name: str, value: str
) -> None:
    assert planned(SET, name, value, resource) == {name: value}


def test_null_is_rejected_except_for_deletion() -> None:
    with pytest.raises(
        InvalidRequestError, match=r"^Null value not supported for : retention\.ms$"
    ):
        planned(SET, "retention.ms", None)


@pytest.mark.parametrize(
    ("resource", "name", "told"),
    (
        (TOPIC, "retention.ms", "Can't APPEND to key retention.ms because its type is not LIST."),
        (TOPIC, "nope", "Can't APPEND to key nope because its type is not LIST."),
        (
            BROKER,
            "log.cleaner.threads",
            "Config value append is not allowed for config key: log.cleaner.threads",
        ),
    ),
)
def test_append_is_rejected_unless_the_type_is_a_list(
    resource: ConfigResource, name: str, told: str
) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        planned(APPEND, name, "1", resource)

    assert str(caught.value) == told


def test_listener_s_key_is_set_on_its_broker() -> None:
    key = "listener.name.inside.ssl.keystore.location"

    assert planned(SET, key, "/a.pem", BROKER) == {key: "/a.pem"}


@pytest.mark.parametrize(
    ("operation", "name", "text", "words"),
    (
        (SET, "nope", "1", "Unknown group config name: nope"),
        (SET, "group.consumer.session.timeout.ms", "50000", "Unknown group config name: group."),
        (
            APPEND,
            "share.isolation.level",
            "x",
            "Can't APPEND to key share.isolation.level because its type is not LIST.",
        ),
        (SUBTRACT, "nope", "x", "Can't SUBTRACT to key nope because its type is not LIST."),
        (
            SET,
            "consumer.session.timeout.ms",
            "0",
            "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least",
        ),
    ),
)
def test_change_of_a_group_is_rejected_with_kafka_s_message(
    operation: AlterOperation, name: str, text: str, words: str
) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        planned(operation, name, text, GROUP)

    assert str(caught.value).startswith(words)


def test_first_invalid_value_of_a_group_is_that_which_kafka_declares_first() -> None:
    texts = [("share.isolation.level", "x"), ("consumer.session.timeout.ms", "x")]

    with pytest.raises(InvalidConfigError, match=r"configuration consumer\.session\.timeout\.ms"):
        plan_replacement(texts, GROUP)


def test_text_of_a_group_is_kept_as_given() -> None:
    assert planned(SET, "consumer.session.timeout.ms", " 50000 ", GROUP) == {
        "consumer.session.timeout.ms": " 50000 "
    }
    assert planned(DELETE, "nope", None, GROUP) == {}


def test_default_of_all_groups_is_rejected_after_invalid_operations() -> None:
    nameless = group_resource("")

    with pytest.raises(InvalidRequestError, match=r"^Default group resources are not allowed\.$"):
        planned(SET, "nope", "1", nameless)
    with pytest.raises(InvalidConfigError, match="because its type is not LIST"):
        planned(APPEND, "nope", "1", nameless)

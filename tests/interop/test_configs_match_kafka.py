"""Names, types, defaults, scopes, synonyms and errors equal those of a running Kafka 4.3."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import ALL_BROKERS, ConfigResource, topic_resource
from cordwood.broker.config.described_configs import DescribedConfig
from cordwood.broker.settings.ignored import find_ignore_reason
from cordwood.core.config_codes import TYPE_CODES, ResourceType
from cordwood.core.errors import KafkaError
from cordwood.core.properties import parse_properties
from cordwood.core.settings import SettingSource
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.oracle import ConfigAnswer

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

TOPIC: Final = "configured"
BROKER: Final = ConfigResource(ResourceType.BROKER, "1")
TYPES: Final = {code: kind.name for kind, code in TYPE_CODES.items()}
SHOWN_SOURCES: Final = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
}
OLDER_NAMES: Final = {"broker.id": "node.id", "log.dir": "log.dirs"}

PEM: Final = "keys and certificates are PEM"
AT_START: Final = "listeners are opened when a broker starts"
THIS_MACHINE: Final = "a broker without access control serves other machines only on request"
NO_KERBEROS: Final = "Kerberos is not supported, and no other mechanism can be the default"
NOT_SERVED: Final = "streams groups are not supported"
#: The differences and their reasons.
EXCEPTIONS: Final = {
    ("ssl.keystore.type", "default"): PEM,
    ("ssl.truststore.type", "default"): PEM,
    ("listeners", "default"): THIS_MACHINE,
    ("listeners", "is_read_only"): AT_START,
    ("listener.security.protocol.map", "is_read_only"): AT_START,
    ("sasl.enabled.mechanisms", "default"): NO_KERBEROS,
    ("sasl.mechanism.inter.broker.protocol", "default"): NO_KERBEROS,
    ("group.coordinator.rebalance.protocols", "default"): NOT_SERVED,
}
HOURS: Final = "Kafka omits a value in hours, even where it is effective"
#: Topic settings that are described differently, and the reasons.
SHOWN_OTHERWISE: Final = {
    "flush.ms": HOURS,
    "segment.ms": HOURS,
    "segment.jitter.ms": HOURS,
    "min.insync.replicas": "Kafka's controllers set it on all brokers when they format a cluster",
}
THROTTLE: Final = "Kafka takes it while a broker runs, and does not show it"
AUTHORIZER: Final = "Kafka's authorizer reads it, which shows nothing"
#: Settings that Kafka does not describe, without Cordwood's own.
SHOWN_HERE_ALONE: Final = {
    "leader.replication.throttled.rate": THROTTLE,
    "follower.replication.throttled.rate": THROTTLE,
    "replica.alter.log.dirs.io.max.bytes.per.second": THROTTLE,
    "super.users": AUTHORIZER,
    "allow.everyone.if.no.acl.found": AUTHORIZER,
}


@pytest.fixture(scope="module")
def described(broker43: Broker) -> dict[str, ConfigAnswer]:
    answers = broker43.oracle.describe_configs(broker43.bootstrap, kind="BROKER", name="1")
    return {answer["name"]: answer for answer in answers}


@pytest.fixture(scope="module")
def of_topic(broker43: Broker) -> dict[str, ConfigAnswer]:
    broker43.create_topics({TOPIC: {"retention.ms": "5", "cleanup.policy": "compact,delete"}})
    answers = broker43.oracle.describe_configs(broker43.bootstrap, kind="TOPIC", name=TOPIC)
    return {answer["name"]: answer for answer in answers}


@pytest.fixture(scope="module")
def configs(broker43: Broker) -> BrokerConfigs:
    file = broker43.logs.parent / "server.properties"
    configs = BrokerConfigs(1, [_source(file)])
    configs.apply(topic_resource(TOPIC), {"retention.ms": "5", "cleanup.policy": "compact,delete"})
    return configs


def _source(file: Path) -> SettingSource:
    texts = parse_properties(file.read_bytes())
    return SettingSource("server.properties", texts)


def test_every_setting_of_kafka_is_declared_or_ignored_for_a_reason(
    described: dict[str, ConfigAnswer], configs: BrokerConfigs
) -> None:
    ours = {entry.name for entry in configs.describe(BROKER)} | set(OLDER_NAMES)
    missing = [name for name in described if name not in ours and not find_ignore_reason(name)]

    own = {name for name in ours if name.startswith("cordwood.")}

    assert missing == []
    assert ours - described.keys() - own == SHOWN_HERE_ALONE.keys()
    assert len(described) > 300


def test_declared_settings_have_kafka_s_type_default_reach_and_secrecy(
    described: dict[str, ConfigAnswer],
) -> None:
    ours = {entry.name: entry for entry in BrokerConfigs(1, []).describe(BROKER)}
    differences = [
        (name, field, mine, theirs)
        for name in sorted(ours.keys() & described.keys() - set(OLDER_NAMES.values()))
        for field, mine, theirs in _compared(ours[name], described[name])
        if mine != theirs and (name, field) not in EXCEPTIONS
    ]

    assert differences == []


def test_each_listed_exception_differs_from_kafka(described: dict[str, ConfigAnswer]) -> None:
    ours = {entry.name: entry for entry in BrokerConfigs(1, []).describe(BROKER)}

    for name, field in EXCEPTIONS:
        compared = {each[0]: each[1:] for each in _compared(ours[name], described[name])}
        mine, theirs = compared[field]
        assert mine != theirs, name


def _compared(
    ours: DescribedConfig, kafkas: ConfigAnswer
) -> list[tuple[str, str | bool | None, str | bool | None]]:
    defaults = [value for name, value, source in kafkas["synonyms"] if source == "DEFAULT_CONFIG"]
    has_own = any(synonym[0] == ours.name for synonym in kafkas["synonyms"])
    default = defaults[0] if defaults and has_own else None
    if ours.name == "log.retention.ms":
        default = None  # shown is the default of log.retention.hours
    return [
        ("type", TYPES[ours.type], kafkas["type"]),
        ("is_read_only", ours.is_read_only, kafkas["is_read_only"]),
        ("is_sensitive", ours.is_sensitive, kafkas["is_sensitive"]),
        ("default", ours.value, default),
    ]


def test_topic_is_described_as_kafka_describes_it(
    of_topic: dict[str, ConfigAnswer], configs: BrokerConfigs
) -> None:
    ours = {entry.name: _answer(entry) for entry in configs.describe(topic_resource(TOPIC))}

    assert ours.keys() == of_topic.keys()
    for name, mine in ours.items():
        assert (mine != of_topic[name]) == (name in SHOWN_OTHERWISE), name


def _answer(entry: DescribedConfig) -> ConfigAnswer:
    return {
        "name": entry.name,
        "value": entry.value,
        "source": SHOWN_SOURCES[entry.source],
        "type": TYPES[entry.type],
        "is_sensitive": entry.is_sensitive,
        "is_read_only": entry.is_read_only,
        "synonyms": [
            [each.name, each.value, SHOWN_SOURCES[each.source]]  # type: ignore[misc] # JSON: lists
            for each in entry.synonyms
        ],
    }


Change = tuple[str, str, str | None]


@pytest.mark.parametrize(
    ("resource", "changes"),
    (
        (topic_resource(TOPIC), [("SET", "nope", "1")]),
        (topic_resource(TOPIC), [("SET", "segment.bytes", "abc")]),
        (topic_resource(TOPIC), [("SET", "segment.bytes", "1")]),
        (topic_resource(TOPIC), [("SET", "segment.bytes", "99999999999")]),
        (topic_resource(TOPIC), [("SET", "preallocate", "maybe")]),
        (topic_resource(TOPIC), [("SET", "min.cleanable.dirty.ratio", "2")]),
        (topic_resource(TOPIC), [("SET", "min.cleanable.dirty.ratio", "x")]),
        (topic_resource(TOPIC), [("SET", "compression.type", "rar")]),
        (topic_resource(TOPIC), [("SET", "cleanup.policy", "foo")]),
        (topic_resource(TOPIC), [("SET", "cleanup.policy", "")]),
        (topic_resource(TOPIC), [("SET", "retention.ms", " 5 ")]),
        (topic_resource(TOPIC), [("APPEND", "cleanup.policy", "compact")]),
        (topic_resource(TOPIC), [("SUBTRACT", "cleanup.policy", "delete")]),
        (topic_resource(TOPIC), [("APPEND", "retention.ms", "1")]),
        (topic_resource(TOPIC), [("APPEND", "nope", "1")]),
        (topic_resource(TOPIC), [("DELETE", "nope", None)]),
        (topic_resource(TOPIC), [("SET", "retention.ms", None)]),
        (topic_resource(TOPIC), [("SET", "retention.ms", "1"), ("DELETE", "retention.ms", None)]),
        (
            topic_resource(TOPIC),
            [("SET", "min.compaction.lag.ms", "10"), ("SET", "max.compaction.lag.ms", "5")],
        ),
        (BROKER, [("SET", "num.partitions", "3")]),
        (BROKER, [("SET", "num.partitions", "3"), ("SET", "broker.rack", "x")]),
        (BROKER, [("SET", "ssl.keystore.location", "/x")]),
        (BROKER, [("SET", "log.cleaner.threads", "-5")]),
        (BROKER, [("SET", "message.max.bytes", "x")]),
        (BROKER, [("SET", "compression.type", "rar")]),
        (BROKER, [("APPEND", "log.cleaner.threads", "1")]),
        (BROKER, [("DELETE", "num.partitions", None)]),
        (ALL_BROKERS, [("SET", "log.retention.hours", "1")]),
        (ALL_BROKERS, [("SET", "listener.name.in.ssl.keystore.location", "/x")]),
    ),
)
@pytest.mark.usefixtures("of_topic")
def test_change_is_accepted_or_rejected_as_by_kafka(
    broker43: Broker, configs: BrokerConfigs, resource: ConfigResource, changes: Sequence[Change]
) -> None:
    kafkas = broker43.oracle.check_alteration(
        broker43.bootstrap,
        kind=resource.type.name,
        name=resource.name,
        changes=[{"operation": verb, "name": name, "value": text} for verb, name, text in changes],
    )

    assert _refusal(configs, resource, changes) == kafkas


def _refusal(
    configs: BrokerConfigs, resource: ConfigResource, changes: Sequence[Change]
) -> list[str]:
    alterations = [
        ConfigAlteration(name, AlterOperation[verb], text) for verb, name, text in changes
    ]
    try:
        configs.plan_alteration(resource, alterations)
    except KafkaError as error:
        names = {40: "InvalidConfigurationException", 42: "InvalidRequestException"}
        return [names[error.code], str(error)]
    return []

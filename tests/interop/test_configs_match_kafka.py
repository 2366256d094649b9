"""Names, types, defaults, scopes, synonyms and errors equal those of a running Kafka 4.3."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_alterations import AlterOperation, ConfigAlteration
from cordwood.broker.config.config_resources import ALL_BROKERS, ConfigResource, topic_resource
from cordwood.broker.config.described_configs import DescribedConfig
from cordwood.broker.config.reconfiguration_checks import CHECKS
from cordwood.broker.config.stored_configs import initial_texts
from cordwood.core.config_codes import TYPE_CODES, UNKNOWN_TYPE, ResourceType
from cordwood.core.errors import KafkaError
from cordwood.core.properties import parse_properties
from cordwood.core.settings import SettingSource
from cordwood.protocol.messages.alter_configs import (
    AlterableConfig as ReplacedConfig,
)
from cordwood.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from cordwood.protocol.messages.alter_configs import (
    AlterConfigsResource as ReplacedResource,
)
from cordwood.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from cordwood.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from cordwood.protocol.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from tests.interop.kafka_harness.brokers import Broker, kraft_broker, running
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import ConfigAnswer, Oracle
from tests.interop.kafka_harness.our_broker import cordwood_broker
from tests.interop.kafka_harness.wire import Connection

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

TOPIC: Final = "configured"
BROKER: Final = ConfigResource(ResourceType.BROKER, "1")
TYPES: Final = {code: kind.name for kind, code in TYPE_CODES.items()} | {UNKNOWN_TYPE: "UNKNOWN"}
SHOWN_SOURCES: Final = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
}

#: Lines for Kafka's settings, one for each rule of descriptions.
MORE: Final = """
log.roll.hours=2
listener.name.plaintext.max.connections=5
log.initial.task.delay.ms=100
zookeeper.set.acl=false
num.io.threads=4
group.consumer.session.timeout.ms=50000
group.consumer.max.heartbeat.interval.ms=55000
group.share.heartbeat.interval.ms=6000
group.streams.max.standby.replicas=3
"""

PEM: Final = "keys and certificates are PEM"
AT_START: Final = "listeners are opened when a broker starts"
THIS_MACHINE: Final = "without access control the default serves this machine alone"
NO_KERBEROS: Final = "Kerberos is not supported, and no other mechanism can be the default"
NOT_SERVED: Final = "streams groups are not supported"
NO_DIRECTORY: Final = "there is no default directory under /tmp"
ONE_NODE: Final = "a broker without an id is node 1"
#: The settings of a broker that are described differently: the fields, and the reason.
EXCEPTIONS: Final = {
    "group.coordinator.rebalance.protocols": ({"value", "synonyms"}, NOT_SERVED),
    "listener.security.protocol.map": ({"is_read_only"}, AT_START),
    "listeners": ({"is_read_only", "synonyms"}, f"{AT_START}; {THIS_MACHINE}"),
    "log.dir": ({"value", "synonyms"}, NO_DIRECTORY),
    "node.id": ({"synonyms"}, ONE_NODE),
    "sasl.enabled.mechanisms": ({"value", "synonyms"}, NO_KERBEROS),
    "sasl.mechanism.inter.broker.protocol": ({"value", "synonyms"}, NO_KERBEROS),
    "ssl.keystore.type": ({"value", "synonyms"}, PEM),
    "ssl.truststore.type": ({"value", "synonyms"}, PEM),
}
#: Settings that the two running brokers cannot share: places, and Kafka's controller.
GIVEN_BY_KAFKA_ALONE: Final = frozenset(
    {
        "controller.listener.names",
        "controller.quorum.voters",
        "listener.security.protocol.map",
        "listeners",
        "log.dirs",
        "process.roles",
    }
)


@pytest.fixture(scope="module")
def configured43(
    kafka43_jars: Jars, kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Broker]:
    """A running Kafka 4.3.0 with more settings."""
    folder = tmp_path_factory.mktemp("kafka43-configured")
    broker = kraft_broker(kafka43_jars, folder, kafka43, MORE)
    file = folder / "server.properties"
    lines = file.read_text().splitlines(keepends=True)
    # Without it Kafka advertises its listeners, and describes the setting as unset.
    file.write_text("".join(each for each in lines if not each.startswith("advertised.listeners")))
    with running(broker):
        yield broker


@pytest.fixture(scope="module")
def configured(kafka43: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A running broker of ours with the same settings."""
    folder = tmp_path_factory.mktemp("cordwood-configured")
    with running(cordwood_broker(folder, kafka43, MORE)) as broker:
        yield broker


@pytest.fixture(scope="module")
def described(configured43: Broker) -> dict[str, ConfigAnswer]:
    return _answers(configured43, BROKER)


@pytest.fixture(scope="module")
def of_topic(configured43: Broker) -> dict[str, ConfigAnswer]:
    configured43.create_topics({TOPIC: {"retention.ms": "5", "cleanup.policy": "compact,delete"}})
    return _answers(configured43, topic_resource(TOPIC))


@pytest.fixture(scope="module")
def configs(configured43: Broker) -> BrokerConfigs:
    file = configured43.logs.parent / "server.properties"
    configs = BrokerConfigs(1, [_source(file)])
    configs.apply(ALL_BROKERS, initial_texts(configs))
    configs.apply(topic_resource(TOPIC), {"retention.ms": "5", "cleanup.policy": "compact,delete"})
    return configs


def _source(file: Path) -> SettingSource:
    texts = parse_properties(file.read_bytes())
    return SettingSource("server.properties", texts)


def _answers(broker: Broker, resource: ConfigResource) -> dict[str, ConfigAnswer]:
    found = broker.oracle.describe_configs(
        broker.bootstrap, kind=resource.type.name, name=resource.name
    )
    return {each["name"]: each for each in found if not each["name"].startswith("cordwood.")}


def test_broker_is_described_as_kafka_describes_it(
    described: dict[str, ConfigAnswer], configs: BrokerConfigs
) -> None:
    """Names, values, sources, synonyms, types and flags are Kafka's, for the same settings."""
    ours = _ours(configs, BROKER)

    assert ours.keys() == described.keys()
    assert _differences(ours, described) == {name: found[0] for name, found in EXCEPTIONS.items()}
    assert len(described) > 340


def test_topic_is_described_as_kafka_describes_it(
    of_topic: dict[str, ConfigAnswer], configs: BrokerConfigs
) -> None:
    ours = _ours(configs, topic_resource(TOPIC))

    assert ours == of_topic


def test_running_broker_answers_as_kafka_does(
    configured: Broker, described: dict[str, ConfigAnswer]
) -> None:
    ours = _answers(configured, BROKER)
    differences = _differences(ours, described)

    assert ours.keys() == described.keys()
    assert {
        name: fields for name, fields in differences.items() if name not in GIVEN_BY_KAFKA_ALONE
    } == {name: found[0] for name, found in EXCEPTIONS.items() if name not in GIVEN_BY_KAFKA_ALONE}


def _ours(configs: BrokerConfigs, resource: ConfigResource) -> dict[str, ConfigAnswer]:
    entries = configs.describe(resource)
    return {each.name: _answer(each) for each in entries if not each.name.startswith("cordwood.")}


def _differences(
    ours: dict[str, ConfigAnswer], kafkas: dict[str, ConfigAnswer]
) -> dict[str, set[str]]:
    """Return the fields that differ, by the names of settings."""
    found = {
        name: {field for field, value in ours[name].items() if dict(kafkas[name])[field] != value}
        for name in ours.keys() & kafkas.keys()
    }
    return {name: fields for name, fields in found.items() if fields}


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
        (BROKER, [("SET", "log.cleaner.threads", "1000000")]),
        (BROKER, [("SET", "log.cleaner.threads", "2")]),
        (BROKER, [("SET", "log.cleaner.dedupe.buffer.size", "9223372036854775807")]),
        (BROKER, [("SET", "max.connections.per.ip", "0")]),
        (BROKER, [("SET", "message.max.bytes", "x")]),
        (BROKER, [("SET", "compression.type", "rar")]),
        (BROKER, [("SET", "process.roles", "broker")]),
        (BROKER, [("SET", "num.io.threads", "5")]),
        (BROKER, [("SET", "sasl.kerberos.service.name", "kafka")]),
        (BROKER, [("SET", "sasl.kerberos.ticket.renew.jitter", "x")]),
        (BROKER, [("SET", "listener.name.plaintext.num.network.threads", "4")]),
        (ALL_BROKERS, [("SET", "num.io.threads", "x")]),
        (ALL_BROKERS, [("SET", "num.io.threads", "0")]),
        (ALL_BROKERS, [("SET", "num.network.threads", "4")]),
        (ALL_BROKERS, [("SET", "background.threads", "9")]),
        (ALL_BROKERS, [("SET", "metric.reporters", "")]),
        (ALL_BROKERS, [("SET", "remote.fetch.max.wait.ms", "5")]),
        (ALL_BROKERS, [("SET", "share.coordinator.cached.buffer.max.bytes", "1")]),
        (ALL_BROKERS, [("SET", "sasl.kerberos.service.name", "kafka")]),
        (ALL_BROKERS, [("SET", "log.dir", "/x")]),
        (BROKER, [("APPEND", "log.cleaner.threads", "1")]),
        (BROKER, [("DELETE", "num.partitions", None)]),
        (ALL_BROKERS, [("SET", "log.retention.hours", "1")]),
        (ALL_BROKERS, [("SET", "listener.name.in.ssl.keystore.location", "/x")]),
    ),
)
@pytest.mark.usefixtures("of_topic")
def test_change_is_accepted_or_rejected_as_by_kafka(
    configured43: Broker,
    configs: BrokerConfigs,
    resource: ConfigResource,
    changes: Sequence[Change],
) -> None:
    kafkas = configured43.oracle.check_alteration(
        configured43.bootstrap,
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
        texts = configs.plan_alteration(resource, alterations)
        for check in () if resource.is_topic else CHECKS:
            check(configs.planned(resource, texts), configs)
    except KafkaError as error:
        names = {40: "InvalidConfigurationException", 42: "InvalidRequestException"}
        return [names[error.code], str(error)]
    return []


# -- groups, in the same requests to both running brokers

GROUP: Final = 32
GROUPS: Final = ("billing", "a/b %41é", "", "g")
#: The attempts to see a change of Kafka's, whose brokers learn of it from its controller.
LOOKS: Final = 2_000
SEEDS: Final = 8
CHANGES: Final = 60
#: The names and values of changes: defaults, bounds of the broker and of the type, and others.
VALUES: Final = {
    "consumer.session.timeout.ms": ("44999", "45000", "60000", "60001", "54999", "0", "x", ""),
    "consumer.heartbeat.interval.ms": ("4999", "5000", "55000", "55001", "-1", "2147483648"),
    "consumer.assignment.interval.ms": ("-1", "0", "15000", "15001"),
    "share.session.timeout.ms": ("44999", "45000", "60001"),
    "share.heartbeat.interval.ms": ("4999", "15000", "15001"),
    "share.record.lock.duration.ms": ("999", "14999", "15000", "60001"),
    "share.delivery.count.limit": ("1", "2", "10", "11"),
    "share.partition.max.record.locks": ("99", "100", "4000", "4001"),
    "share.assignment.interval.ms": ("0", "15001"),
    "share.auto.offset.reset": (
        "earliest",
        "latest",
        "by_duration:P1DT2H",
        "by_duration:1",
        "none",
    ),
    "share.isolation.level": ("read_committed", "read_uncommitted", "READ_COMMITTED", ""),
    "share.renew.acknowledge.enable": ("true", "FALSE", "maybe"),
    "streams.session.timeout.ms": ("44999", "45000", "60001"),
    "streams.heartbeat.interval.ms": ("4999", "15000", "15001"),
    "streams.assignment.interval.ms": ("0", "15001"),
    "streams.num.standby.replicas": ("-1", "3", "4"),
    "streams.initial.rebalance.delay.ms": ("-1", "0", "99999999"),
    "group.consumer.session.timeout.ms": ("50000",),
    "nope": ("1",),
}


class BothBrokers:
    """Kafka and ours, which get the same requests about groups."""

    def __init__(self, kafka: Connection, ours: Connection) -> None:
        self._kafka = kafka
        self._ours = ours
        self.accepted = 0
        self.rejected = 0

    def alter(self, group: str, changes: Sequence[Change], *, only: bool) -> None:
        """Send IncrementalAlterConfigs, and compare the answers."""
        configs = [
            AlterableConfig(name=name, config_operation=AlterOperation[verb], value=text)
            for verb, name, text in changes
        ]
        resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=only)
        kafka, ours = (
            each.ask(request, 1, answer=IncrementalAlterConfigsResponse).responses
            for each in (self._kafka, self._ours)
        )
        self._compare(kafka, ours, changes)

    def replace(self, group: str, changes: Sequence[Change], *, only: bool) -> None:
        """Send AlterConfigs, and compare the answers."""
        configs = [ReplacedConfig(name=name, value=text) for _, name, text in changes]
        resource = ReplacedResource(resource_type=GROUP, resource_name=group, configs=configs)
        request = AlterConfigsRequest(resources=[resource], validate_only=only)
        kafka, ours = (
            each.ask(request, 2, answer=AlterConfigsResponse).responses
            for each in (self._kafka, self._ours)
        )
        self._compare(kafka, ours, changes)

    def describe(self, group: str, names: list[str] | None = None) -> None:
        """Compare the descriptions of a group."""
        resource = DescribeConfigsResource(
            resource_type=GROUP, resource_name=group, configuration_keys=names
        )
        request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
        ours = _description(self._ours, request)
        found = (_description(self._kafka, request) for _ in range(LOOKS))
        kafka = next((each for each in found if each == ours), _description(self._kafka, request))
        assert kafka == ours, group

    def list_groups(self) -> None:
        """Compare the groups with a configuration."""
        ours = _listed(self._ours)
        found = (_listed(self._kafka) for _ in range(LOOKS))
        kafka = next((each for each in found if each == ours), _listed(self._kafka))
        assert kafka == ours

    def _compare(
        self,
        kafka: Sequence[AlterConfigsResourceResponse],
        ours: Sequence[AlterConfigsResourceResponse],
        changes: Sequence[Change],
    ) -> None:
        if len(changes) > 1:
            # Of several invalid changes, Kafka reports the first one of a hash map.
            for each in (*kafka, *ours):
                each.error_message = each.error_message and "of one of them"
        assert kafka == ours, changes
        is_accepted = not kafka[0].error_code
        self.accepted += is_accepted
        self.rejected += not is_accepted


def _listed(connection: Connection) -> list[str]:
    request = ListConfigResourcesRequest(resource_types=[GROUP])
    answer = connection.ask(request, 1, answer=ListConfigResourcesResponse)
    assert {each.resource_type for each in answer.config_resources} <= {GROUP}
    return sorted(each.resource_name for each in answer.config_resources)


def _description(connection: Connection, request: DescribeConfigsRequest) -> object:
    (found,) = connection.ask(request, 4, answer=DescribeConfigsResponse).results
    for each in found.configs:
        each.documentation = None  # ours are in other words
    return found.error_code, found.error_message, sorted(found.configs, key=lambda each: each.name)


def test_random_changes_of_groups_have_kafka_s_answers_and_results(
    configured43: Broker, configured: Broker
) -> None:
    """Known and unknown names, all operations, both requests, at every bound.

    Numbers have no spaces: Kafka accepts and describes ` 46000 `, but fails to apply it.
    """
    with Connection(configured43.bootstrap) as kafka, Connection(configured.bootstrap) as ours:
        both = BothBrokers(kafka, ours)
        for seed in range(SEEDS):
            chance = random.Random(seed)
            for _ in range(CHANGES):
                _change_randomly(both, chance)
            both.list_groups()

    assert both.accepted > 100
    assert both.rejected > 100


def _change_randomly(both: BothBrokers, chance: random.Random) -> None:
    group, only = chance.choice(GROUPS), chance.random() < 0.2
    changes = [_random_change(chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    if chance.random() < 0.25:
        both.replace(group, changes, only=only)
    else:
        both.alter(group, changes, only=only)
    both.describe(group, chance.choice((None, [name for _, name, _ in changes])))


def _random_change(chance: random.Random) -> Change:
    verb = chance.choice(("SET",) * 6 + ("DELETE", "DELETE", "APPEND", "SUBTRACT"))
    name = chance.choice([*VALUES])
    text = None if verb == "DELETE" or chance.random() < 0.03 else chance.choice(VALUES[name])
    return verb, name, text


def test_groups_keep_their_settings_over_a_restart(configured: Broker) -> None:
    timeout = ReplacedConfig(name="consumer.session.timeout.ms", value="55000")
    _replace(configured, "kept/é", timeout)

    configured.kill()
    configured.start()

    found = configured.oracle.describe_configs(configured.bootstrap, kind="GROUP", name="kept/é")
    assert [each["value"] for each in found if each["source"] == "DYNAMIC_GROUP_CONFIG"] == [
        "55000"
    ]
    _replace(configured, "kept/é")


def _replace(broker: Broker, group: str, *configs: ReplacedConfig) -> None:
    resource = ReplacedResource(resource_type=GROUP, resource_name=group, configs=[*configs])
    request = AlterConfigsRequest(resources=[resource], validate_only=False)
    with Connection(broker.bootstrap) as connection:
        answer = connection.ask(request, 2, answer=AlterConfigsResponse)
    assert answer.responses[0].error_code == 0

"""Tests of the settings of a cluster with ZooKeeper."""

import pytest

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.config.config_resources import ConfigResource
from cordwood.broker.settings.cluster import CLUSTER
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import SettingError
from cordwood.core.settings import SettingSource

BROKER = ConfigResource(ResourceType.BROKER, "1")


def described(**given: str) -> set[str]:
    """Return the names of these settings that DescribeConfigs has."""
    source = SettingSource("test", {name.replace("_", "."): text for name, text in given.items()})
    names = {each.name for each in CLUSTER}
    return {each.name for each in BrokerConfigs(1, [source]).describe(BROKER)} & names


def test_defaults_are_those_of_kafka_39() -> None:
    assert {each.name: each.default for each in CLUSTER} == {
        "zookeeper.connect": None,
        "zookeeper.session.timeout.ms": 18_000,
        "zookeeper.connection.timeout.ms": None,
        "zookeeper.max.in.flight.requests": 10,
        "broker.id.generation.enable": True,
        "reserved.broker.max.id": 1000,
        "controlled.shutdown.max.retries": 3,
        "controlled.shutdown.retry.backoff.ms": 5000,
        "leader.imbalance.per.broker.percentage": 10,
    }


def test_settings_are_described_only_if_they_are_given() -> None:
    assert described() == set()
    assert described(zookeeper_connect="h:2181/kafka") == {"zookeeper.connect"}


@pytest.mark.parametrize(
    ("name", "text"), (("zookeeper.max.in.flight.requests", "0"), ("reserved.broker.max.id", "-1"))
)
def test_value_out_of_range_is_rejected(name: str, text: str) -> None:
    with pytest.raises(SettingError):
        CLUSTER[name].parse(text)

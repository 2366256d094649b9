"""Tests of resources with a configuration."""

from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    resource_of_request,
    topic_resource,
)
from cordwood.core.config_codes import ResourceType


def test_resource_has_the_path_of_kafka() -> None:
    assert topic_resource("orders").path == "/config/topics/orders"
    assert resource_of_request(4, "1", node_id=1).path == "/config/brokers/1"
    assert ALL_BROKERS.path == "/config/brokers/<default>"


def test_resource_of_loggers_is_this_broker_s() -> None:
    assert resource_of_request(8, "1", node_id=1).type is ResourceType.BROKER_LOGGER

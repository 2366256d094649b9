"""Tests of resources with a configuration."""

import pytest

from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    group_resource,
    resource_of_request,
    topic_resource,
)
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import InvalidRequestError


def test_resource_has_the_path_of_kafka() -> None:
    assert topic_resource("orders").path == "/config/topics/orders"
    assert resource_of_request(4, "1", node_id=1).path == "/config/brokers/1"
    assert ALL_BROKERS.path == "/config/brokers/<default>"


def test_resource_of_loggers_is_this_broker_s() -> None:
    assert resource_of_request(8, "1", node_id=1).type is ResourceType.BROKER_LOGGER


def test_group_of_any_name_has_a_path() -> None:
    assert resource_of_request(32, "a/b *~é", node_id=1) == group_resource("a/b *~é")
    assert group_resource("a/b *~é").path == "/config/groups/a%2Fb%20%2A%7E%C3%A9"


def test_default_resource_of_topics_is_rejected() -> None:
    with pytest.raises(InvalidRequestError, match=r"^Default topic resources are not allowed"):
        resource_of_request(2, "", node_id=1)


def test_resource_has_one_kind() -> None:
    kinds = [
        (each.is_topic, each.is_group, each.is_broker)
        for each in (topic_resource("x"), group_resource("x"), ALL_BROKERS)
    ]

    assert kinds == [(True, False, False), (False, True, False), (False, False, True)]

"""Tests of resources as entities of ZooKeeper."""

import pytest

from cordwood.broker.cluster_admin.config_entities import entities_of, resource_of
from cordwood.broker.config.config_resources import (
    ALL_BROKERS,
    ConfigResource,
    group_resource,
    topic_resource,
)
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntity
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import InvalidRequestError


@pytest.mark.parametrize(
    ("resource", "entity"),
    (
        (topic_resource("t"), ConfigEntity("topics", "t")),
        (ConfigResource(ResourceType.BROKER, "1"), ConfigEntity("brokers", "1")),
        (ALL_BROKERS, ConfigEntity("brokers", "")),
    ),
)
def test_resource_is_one_entity(resource: ConfigResource, entity: ConfigEntity) -> None:
    assert entities_of(resource) == (entity,)
    assert resource_of((entity,)) == resource


def test_groups_have_no_configuration_in_zookeeper() -> None:
    with pytest.raises(InvalidRequestError, match="the type GROUP"):
        entities_of(group_resource("g"))


def test_users_and_clients_are_no_resources() -> None:
    user, client = ConfigEntity("users", "u"), ConfigEntity("clients", "c")

    assert resource_of((user,)) is None
    assert resource_of((user, client)) is None

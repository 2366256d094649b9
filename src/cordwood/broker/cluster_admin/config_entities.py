"""Resources of requests as entities of ZooKeeper (Kafka: `ConfigResource`, `ConfigEntity`)."""

from types import MappingProxyType
from typing import Final

from cordwood.broker.config.config_resources import ConfigResource
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntities, ConfigEntity
from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import InvalidRequestError

TOPICS: Final = "topics"
BROKERS: Final = "brokers"
_KINDS: Final = MappingProxyType({ResourceType.TOPIC: TOPICS, ResourceType.BROKER: BROKERS})
_TYPES: Final = MappingProxyType({kind: each for each, kind in _KINDS.items()})


def entities_of(resource: ConfigResource) -> ConfigEntities:
    """Return the entity of a resource; InvalidRequestError for groups, as by Kafka 3.9."""
    if resource.type not in _KINDS:
        raise InvalidRequestError(
            f"a cluster with ZooKeeper stores no configurations of the type {resource.type.name}"
        )
    return (ConfigEntity(_KINDS[resource.type], resource.name),)


def resource_of(entities: ConfigEntities) -> ConfigResource | None:
    """Return the resource of an entity; None for users, clients and addresses."""
    kind, name = entities[0]
    return ConfigResource(_TYPES[kind], name) if len(entities) == 1 and kind in _TYPES else None

"""Resources that have a configuration (Kafka: `ConfigResource`).

A resource is a topic, a group, a broker, or all brokers: the broker resource with an empty name.
The stored form of a configuration is in `core.metadata_paths`. A broker has no configuration of
other brokers or of clients. A group need not exist to have a configuration.
"""

from dataclasses import dataclass
from typing import Final

from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import InvalidRequestError
from cordwood.core.metadata_paths import config_path

#: Kafka's other resource types have no configuration here.
CONFIGURED: Final = frozenset(
    {ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER, ResourceType.GROUP}
)


@dataclass(frozen=True, slots=True)
class ConfigResource:
    """One topic, one group, one broker, or all brokers if the name is empty."""

    type: ResourceType
    name: str

    @property
    def is_topic(self) -> bool:
        return self.type is ResourceType.TOPIC

    @property
    def is_group(self) -> bool:
        return self.type is ResourceType.GROUP

    @property
    def is_broker(self) -> bool:
        return self.type is ResourceType.BROKER

    @property
    def path(self) -> str:
        """The path of its configuration in the metadata store."""
        return config_path(self.type, self.name)


ALL_BROKERS: Final = ConfigResource(ResourceType.BROKER, "")


def topic_resource(topic: str) -> ConfigResource:
    """Return the resource of a topic, which need not exist."""
    return ConfigResource(ResourceType.TOPIC, topic)


def group_resource(group_id: str) -> ConfigResource:
    """Return the resource of a group, which need not exist."""
    return ConfigResource(ResourceType.GROUP, group_id)


def resource_of_request(type_code: int, name: str, *, node_id: int) -> ConfigResource:
    """Return the resource of a request; raise if this broker cannot answer for it."""
    if type_code not in CONFIGURED:
        raise InvalidRequestError(f"Unsupported resource type: {type_code}")
    resource = ConfigResource(ResourceType(type_code), name)
    if resource.is_topic and not name:
        raise InvalidRequestError("Default topic resources are not allowed.")
    is_of_broker = resource.is_broker or resource.type is ResourceType.BROKER_LOGGER
    if is_of_broker and resource != ALL_BROKERS and name != str(node_id):
        raise InvalidRequestError(
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
        )
    return resource

"""What has a configuration of its own, and how that is kept.

A topic, a broker, or all brokers: a broker resource without a name. Where each is kept and in which
words `core.metadata_nodes` says. A broker has no configuration of another broker, nor of clients
or groups.
"""

from dataclasses import dataclass
from typing import Final

from cordwood.core.config_codes import ResourceType
from cordwood.core.errors import InvalidRequestError
from cordwood.core.metadata_nodes import config_path

#: The others that Kafka knows have none here.
CONFIGURED: Final = frozenset({ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER})


@dataclass(frozen=True, slots=True)
class Resource:
    """One topic, one broker, or with an empty name all brokers."""

    type: ResourceType
    name: str

    @property
    def is_topic(self) -> bool:
        return self.type is ResourceType.TOPIC

    @property
    def path(self) -> str:
        """Where its configuration is kept."""
        return config_path(self.type, self.name)


ALL_BROKERS: Final = Resource(ResourceType.BROKER, "")


def topic_resource(topic: str) -> Resource:
    """Return the resource of a topic; whether there is one is not asked here."""
    return Resource(ResourceType.TOPIC, topic)


def resource_asked_for(type_code: int, name: str, *, node_id: int) -> Resource:
    """Return what a request speaks of, if this broker may answer for it."""
    if type_code not in CONFIGURED:
        raise InvalidRequestError(f"Unsupported resource type: {type_code}")
    resource = Resource(ResourceType(type_code), name)
    if resource.is_topic and not name:
        raise InvalidRequestError("Default topic resources are not allowed.")
    if not resource.is_topic and resource != ALL_BROKERS and name != str(node_id):
        raise InvalidRequestError(
            f"Unexpected broker id, expected {node_id} or empty string, but received {name}"
        )
    return resource

"""Changes of the cluster's metadata and of the session, as values (Kafka: `ControllerEvent`).

An event states that something may have changed since it was read. Its receiver reads again, and
then sees this change or a later one.
"""

from dataclasses import dataclass
from typing import TypeAlias

from cordwood.cluster.controller.context.live_broker import LiveBroker
from cordwood.cluster.zookeeper.znodes.event_znodes import ConfigEntities
from cordwood.core.errors import DamagedFileError
from cordwood.core.types import TopicPartition


@dataclass(frozen=True, slots=True)
class SessionConnected:
    """The session has a connection, for the first time or again."""


@dataclass(frozen=True, slots=True)
class SessionSuspended:
    """The session has no connection; operations wait, and changes are not reported meanwhile."""


@dataclass(frozen=True, slots=True)
class SessionExpired:
    """The session is over, with the registration of the broker and its role as controller."""


@dataclass(frozen=True, slots=True)
class ControllerChanged:
    """Another broker is the controller, or none is; the same broker may have been elected again."""

    controller_id: int | None


@dataclass(frozen=True, slots=True)
class BrokersChanged:
    """Brokers have registered, or their registrations have ended."""


@dataclass(frozen=True, slots=True)
class BrokerModified:
    """A broker has other endpoints; its epoch is the same."""

    broker: LiveBroker


@dataclass(frozen=True, slots=True)
class TopicsChanged:
    """Topics were created or removed."""


@dataclass(frozen=True, slots=True)
class PartitionsChanged:
    """A topic has other partitions or replicas."""

    topic: str


@dataclass(frozen=True, slots=True)
class DeletionsRequested:
    """Topics are to be deleted."""


@dataclass(frozen=True, slots=True)
class ReassignmentsRequested:
    """Partitions are to have other replicas."""


@dataclass(frozen=True, slots=True)
class ElectionsRequested:
    """Preferred replicas are to lead their partitions."""


@dataclass(frozen=True, slots=True)
class IsrChangesNotified:
    """Leaders have stored other in-sync sets; `numbers` are those of the notifications."""

    partitions: tuple[TopicPartition, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LogDirFailuresNotified:
    """Brokers have lost log directories; `numbers` are those of the notifications."""

    broker_ids: tuple[int, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    """An entity has another configuration."""

    entities: ConfigEntities


@dataclass(frozen=True, slots=True)
class MetadataDamaged:
    """A node was skipped, because its content is not Kafka's."""

    error: DamagedFileError


MetadataEvent: TypeAlias = (
    SessionConnected
    | SessionSuspended
    | SessionExpired
    | ControllerChanged
    | BrokersChanged
    | BrokerModified
    | TopicsChanged
    | PartitionsChanged
    | DeletionsRequested
    | ReassignmentsRequested
    | ElectionsRequested
    | IsrChangesNotified
    | LogDirFailuresNotified
    | ConfigChanged
    | MetadataDamaged
)

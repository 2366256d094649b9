"""Values that the admin client returns; each has a repr and `to_json`."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


class JsonValue:
    """Base of all values."""

    __slots__ = ()

    def to_json(self) -> str:
        """Return the value as a JSON object."""
        return json.dumps(asdict(self))  # type: ignore[call-overload]  # each is a dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDescription(JsonValue):
    """Leader, replicas and in-sync replicas of a partition; the leader is -1 if there is none."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReassignment(JsonValue):
    """A move in progress: the replicas of the partition, those that come and those that go."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription(JsonValue):
    """A topic and its partitions."""

    name: str
    topic_id: str
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic(JsonValue):
    """A topic that was created or, with `validate_only`, could be; old brokers leave fields out."""

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDescription(JsonValue):
    """A broker and its address."""

    node_id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription(JsonValue):
    """A cluster and its brokers."""

    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSynonym(JsonValue):
    """A source that gives a setting a value, and the name it uses."""

    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry(JsonValue):
    """A setting; the value of a sensitive one is None."""

    name: str
    value: str | None
    source: str
    type: str
    is_read_only: bool
    is_sensitive: bool
    documentation: str | None
    synonyms: tuple[ConfigSynonym, ...]

    @property
    def is_default(self) -> bool:
        """Whether the value is the default, not set by any source."""
        return self.source == "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDescription(JsonValue):
    """Settings of a topic, a group or a broker, by name."""

    resource_type: str
    name: str
    entries: Mapping[str, ConfigEntry]

    def __getitem__(self, name: str) -> str | None:
        """Return a setting's value."""
        return self.entries[name].value


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirPartition(JsonValue):
    """Replica of a partition in a log directory."""

    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirDescription(JsonValue):
    """A broker's log directory.

    `error` is set if the directory is offline; a size of -1 was not reported.
    """

    node_id: int
    path: str
    error: str | None
    total_bytes: int
    usable_bytes: int
    partitions: tuple[LogDirPartition, ...]

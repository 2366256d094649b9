"""What an admin client is told of a cluster: values that show themselves, and as JSON."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass


class _Described:
    """What every such value can do."""

    __slots__ = ()

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps(asdict(self))  # type: ignore[call-overload]  # each is a dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDescription(_Described):
    """Who leads a partition, who has it, and who of them keeps up; -1 where nobody leads."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription(_Described):
    """A topic."""

    name: str
    topic_id: str
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic(_Described):
    """A topic that was created, or would have been; old brokers do not tell of it."""

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerDescription(_Described):
    """A broker, and where it is reached."""

    node_id: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDescription(_Described):
    """A cluster."""

    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerDescription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSynonym(_Described):
    """A place that gives a setting a value, and under which name."""

    name: str
    value: str | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigEntry(_Described):
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
        """Whether nobody has set it."""
        return self.source == "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDescription(_Described):
    """The settings of a topic or of a broker, by their names."""

    resource_type: str
    name: str
    entries: Mapping[str, ConfigEntry]

    def __getitem__(self, name: str) -> str | None:
        """Return a setting's value."""
        return self.entries[name].value


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirPartition(_Described):
    """What a log directory has of a partition."""

    topic: str
    partition: int
    size: int
    offset_lag: int
    is_future: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirDescription(_Described):
    """A log directory of a broker. An error says that it is offline; -1 that room is not told."""

    node_id: int
    path: str
    error: str | None
    total_bytes: int
    usable_bytes: int
    partitions: tuple[LogDirPartition, ...]

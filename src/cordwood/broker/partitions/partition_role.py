"""Role of a partition on this broker (Kafka: leader and follower state of `Partition`).

    Leader     accepts appends, and knows how far each replica has copied the log
    Follower   copies the log of another broker
    Offline    has no usable log here, or no leader; carries the error for its clients

`cordwood.cluster.partition.leader` decides which records count, and which replicas are in sync.
"""

from dataclasses import dataclass
from typing import TypeAlias

from cordwood.cluster.partition.leader import Leader
from cordwood.core.errors import KafkaError
from cordwood.core.types import LeaderEpoch


@dataclass(frozen=True, slots=True)
class Follower:
    """A replica of a log that another broker leads."""

    leader: int
    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class Offline:
    """A partition that cannot be read or written here; every request gets `error`."""

    error: KafkaError


Role: TypeAlias = Leader | Follower | Offline

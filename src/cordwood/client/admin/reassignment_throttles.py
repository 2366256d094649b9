"""Throttles of reassignments as settings of topics and brokers.

Kafka: `ReassignPartitionsCommand`.

A move has sources, the replicas of the partition before it, and destinations, the replicas that
come. The sources are throttled as leaders and the destinations as followers: each source may lead.
All moves in progress are included, because the list of a topic replaces its former one.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from cordwood.client.admin.admin_types import PartitionReassignment
from cordwood.core.types import TopicPartition

_LEADERS: Final = "leader.replication.throttled.replicas"
_FOLLOWERS: Final = "follower.replication.throttled.replicas"
_RATES: Final = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_LOG_DIRS: Final = "replica.alter.log.dirs.io.max.bytes.per.second"
#: The settings to reset when the moves have ended.
TOPIC_THROTTLES: Final = (_LEADERS, _FOLLOWERS)
BROKER_THROTTLES: Final = (*_RATES, _LOG_DIRS)


class ReplicaMove(NamedTuple):
    """The replicas between which one partition is copied (Kafka: `PartitionMove`)."""

    sources: frozenset[int]
    destinations: frozenset[int]


def moves(
    in_progress: Mapping[TopicPartition, PartitionReassignment],
    targets: Mapping[TopicPartition, Sequence[int]],
    *,
    replicas: Mapping[TopicPartition, Sequence[int]],
) -> dict[TopicPartition, ReplicaMove]:
    """Return the moves in progress and those to the targets, from the present replicas."""
    found = {
        name: ReplicaMove(frozenset(each.replicas) - frozenset(each.adding), frozenset(each.adding))
        for name, each in in_progress.items()
    }
    for name, target in targets.items():
        present = found.get(name)
        sources = frozenset(replicas[name]) if present is None else present.sources
        found[name] = ReplicaMove(sources, frozenset(target) - sources)
    return found


def topic_throttles(found: Mapping[TopicPartition, ReplicaMove]) -> dict[str, dict[str, str]]:
    """Return the lists of throttled replicas of each topic."""
    topics = {name.topic for name in found}
    return {
        topic: {
            _LEADERS: _listed(
                (name, move.sources) for name, move in found.items() if name.topic == topic
            ),
            _FOLLOWERS: _listed(
                (name, move.destinations) for name, move in found.items() if name.topic == topic
            ),
        }
        for topic in sorted(topics)
    }


def broker_throttles(
    found: Mapping[TopicPartition, ReplicaMove], bytes_per_second: int
) -> dict[int, dict[str, str]]:
    """Return the limits of each broker that sends or receives."""
    brokers = frozenset(chain.from_iterable(chain(*found.values())))
    return {each: dict.fromkeys(_RATES, str(bytes_per_second)) for each in sorted(brokers)}


def log_dir_throttles(brokers: Iterable[int], bytes_per_second: int) -> dict[int, dict[str, str]]:
    """Return the limit of copies between the directories of each broker."""
    return {each: {_LOG_DIRS: str(bytes_per_second)} for each in sorted(set(brokers))}


def _listed(replicas: Iterable[tuple[TopicPartition, frozenset[int]]]) -> str:
    pairs = {f"{name.partition}:{broker}" for name, brokers in replicas for broker in brokers}
    return ",".join(sorted(pairs))

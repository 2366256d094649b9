"""Validation of topic requests, and the replicas planned for them (Kafka: `Topic`,
`ReplicationControlManager`).

    name         1 to 249 characters of A-Z a-z 0-9 . _ -, neither `.` nor `..`; two topics must not
                 differ by . and _ alone, which are one character in metric names
    counts       at least 1, or -1 for the broker's default
    assignment   brokers for every partition from 0, the same number for each; both counts are -1

Error codes and messages are Kafka's, since clients show them and people search for them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cordwood.broker.config.config_resources import ConfigResource
from cordwood.broker.metadata.metadata_image import ClusterImage, TopicImage
from cordwood.broker.metadata.replica_placer import PlacementSpec, Replicas, spread
from cordwood.core.errors import (
    InvalidConfigError,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidTopicError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.ports import Random
from cordwood.storage.files.file_names import LONGEST_TOPIC

#: The count that stands for the broker's default.
NOT_GIVEN: Final = -1
#: The highest number of partitions that one request may create.
MAX_NEW_PARTITIONS: Final = 10_000

_LEGAL: Final = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A requested topic; `assignments` has partitions with their brokers, as requested."""

    name: str
    partitions: int = NOT_GIVEN
    replication_factor: int = NOT_GIVEN
    assignments: Sequence[tuple[int, Replicas]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """The broker's default counts."""

    partitions: int
    replication_factor: int


def check_name(name: str) -> None:
    """Raise InvalidTopicError for an invalid topic name."""
    problem = _problem_of(name)
    if problem:
        raise InvalidTopicError(f"Topic name is invalid: {problem}")


def missing_topic(name: str) -> InvalidTopicError | UnknownTopicOrPartitionError:
    """Return the error for a topic that does not exist: its name is invalid, or unknown."""
    try:
        check_name(name)
    except InvalidTopicError as error:
        return error.with_traceback(None)  # its frames refer to the list of the results
    return UnknownTopicOrPartitionError()


def ensure_topic_exists(resource: ConfigResource, image: ClusterImage) -> None:
    """Raise if a resource is a topic that does not exist or has an invalid name."""
    if resource.is_topic and resource.name not in image.topics:
        check_name(resource.name)
        raise UnknownTopicOrPartitionError(f"The topic '{resource.name}' does not exist.")


class ExistingTopicNames:
    """The names of existing topics, which a new name must not collide with."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        self._unified = {_unified(name): name for name in self._names if _may_collide(name)}

    def check(self, name: str) -> None:
        """Raise for a name that is invalid, exists, or collides with an existing one."""
        check_name(name)
        if name in self._names:
            raise TopicAlreadyExistsError(f"Topic '{name}' already exists.")
        other = self._unified.get(_unified(name)) if _may_collide(name) else None
        if other is not None:
            raise InvalidTopicError(f"Topic '{name}' collides with existing topic: {other}")


def check_partition_count(new: Sequence[NewTopic], defaults: TopicDefaults) -> None:
    """Raise PolicyViolationError if a request creates too many partitions."""
    counts = (
        len(each.assignments) or (each.partitions if each.partitions > 0 else defaults.partitions)
        for each in new
    )
    ensure_few_partitions(sum(counts))


def ensure_few_partitions(count: int) -> None:
    """Raise PolicyViolationError for more new partitions than one request may create."""
    if count > MAX_NEW_PARTITIONS:
        raise PolicyViolationError("Excessively large number of partitions per request.")


def check_configs(new: NewTopic) -> None:
    """Raise InvalidConfigError for settings without a value."""
    empty = [name for name, text in new.configs if text is None]
    if empty:
        raise InvalidConfigError(f"Null value not supported for topic configs: {', '.join(empty)}")


def plan_replicas(
    new: NewTopic, image: ClusterImage, *, defaults: TopicDefaults, random: Random
) -> list[Replicas]:
    """Return the replicas of a new topic's partitions."""
    if new.assignments:
        return _assigned_by_client(new, image)
    if new.replication_factor < NOT_GIVEN or new.replication_factor == 0:
        raise InvalidReplicationFactorError(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if new.partitions < NOT_GIVEN or new.partitions == 0:
        raise InvalidPartitionsError(
            "Number of partitions was set to an invalid non-positive value."
        )
    spec = PlacementSpec(
        defaults.partitions if new.partitions == NOT_GIVEN else new.partitions,
        defaults.replication_factor
        if new.replication_factor == NOT_GIVEN
        else new.replication_factor,
    )
    return spread(_racks(image), spec, random=random)


def plan_more_partitions(
    topic: TopicImage,
    count: int,
    *,
    assignments: Sequence[Replicas] | None,
    image: ClusterImage,
    random: Random,
) -> list[Replicas]:
    """Return the replicas of the partitions that a topic needs to have `count`."""
    present = len(topic.partitions)
    if count == present:
        raise InvalidPartitionsError(f"Topic already has {present} partition(s).")
    if count < present:
        raise InvalidPartitionsError(
            f"The topic {topic.name} currently has {present} partition(s);"
            f" {count} would not be an increase."
        )
    added = count - present
    if added > MAX_NEW_PARTITIONS:
        raise PolicyViolationError("Excessively large number of partitions per request.")
    if assignments is None:
        spec = PlacementSpec(added, topic.replication_factor, present)
        leader_of_0 = topic.partitions[0].replicas[0]
        return spread(_racks(image), spec, random=random, leader_of_0=leader_of_0)
    if len(assignments) != added:
        raise InvalidReplicaAssignmentError(
            f"Attempted to add {added} additional partition(s), but only"
            f" {len(assignments)} assignment(s) were specified."
        )
    for replicas in assignments:
        check_replicas(replicas, image, expected=topic.replication_factor)
    return [*assignments]


def check_replicas(replicas: Replicas, image: ClusterImage, *, expected: int) -> None:
    """Raise unless the replicas are `expected` different brokers of the image."""
    words = "The manual partition assignment includes"
    if not replicas:
        raise InvalidReplicaAssignmentError(f"{words} an empty replica list.")
    for broker in sorted(replicas):
        if broker not in image.brokers:
            raise InvalidReplicaAssignmentError(
                f"{words} broker {broker}, but no such broker is registered."
            )
        if replicas.count(broker) > 1:
            raise InvalidReplicaAssignmentError(f"{words} the broker {broker} more than once.")
    if len(replicas) != expected:
        raise InvalidReplicaAssignmentError(
            f"{words} a partition with {len(replicas)} replica(s), but this is not consistent"
            f" with previous partitions, which have {expected} replica(s)."
        )


def _problem_of(name: str) -> str:
    if not name:
        return "the empty string is not allowed"
    if name in {".", ".."}:
        return f"'{name}' is not allowed"
    if len(name) > LONGEST_TOPIC:
        return f"the length of '{name}' is longer than the max allowed length {LONGEST_TOPIC}"
    if _LEGAL.fullmatch(name) is None:
        return (
            f"'{name}' contains one or more characters other than"
            " ASCII alphanumerics, '.', '_' and '-'"
        )
    return ""


def _may_collide(name: str) -> bool:
    return "." in name or "_" in name


def _unified(name: str) -> str:
    return name.replace(".", "_")


def _racks(image: ClusterImage) -> Mapping[int, str | None]:
    return {broker.node_id: broker.rack for broker in image.brokers.values()}


def _assigned_by_client(new: NewTopic, image: ClusterImage) -> list[Replicas]:
    if new.replication_factor != NOT_GIVEN:
        raise InvalidRequestError(
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
    if new.partitions != NOT_GIVEN:
        raise InvalidRequestError(
            "A manual partition assignment was specified, but numPartitions was not set to -1."
        )
    assigned: dict[int, Replicas] = {}
    for index, replicas in new.assignments:
        if index in assigned:
            raise InvalidReplicaAssignmentError(
                f"Found multiple manual partition assignments for partition {index}"
            )
        check_replicas(replicas, image, expected=len(new.assignments[0][1]))
        assigned[index] = replicas
    if set(assigned) != set(range(len(assigned))):
        raise InvalidReplicaAssignmentError(
            "partitions should be a consecutive 0-based integer sequence"
        )
    return [assigned[index] for index in range(len(assigned))]

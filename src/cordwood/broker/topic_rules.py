"""What may be asked of topics, and what comes of it: values in, plans out, nothing is done here.

    name        1 to 249 of A-Z a-z 0-9 . _ -; neither . nor ..; . and _ are the same to metrics, so
                two topics must not differ by them alone
    numbers     at least 1, or -1 for the broker's default
    by hand     every partition from 0 on has its brokers, all as many, and both numbers are -1

Codes and words are Kafka's, since clients show them and people search for them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cordwood.broker.image import ClusterImage, TopicImage
from cordwood.broker.placement import Extent, Replicas, spread
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
from cordwood.storage.names import LONGEST_TOPIC

#: Where the number of partitions or replicas is left to the broker.
NOT_SAID: Final = -1
#: The most partitions that one request may make.
MOST_AT_ONCE: Final = 10_000

_LEGAL: Final = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic that somebody asks for; `assignments` has partitions with their brokers, in order."""

    name: str
    partitions: int = NOT_SAID
    replication_factor: int = NOT_SAID
    assignments: Sequence[tuple[int, Replicas]] = ()
    configs: Sequence[tuple[str, str | None]] = ()


@dataclass(frozen=True, slots=True)
class TopicDefaults:
    """What the broker takes where nobody says."""

    partitions: int
    replication_factor: int


def check_name(name: str) -> None:
    """Raise InvalidTopicError for a name that no topic may have."""
    problem = _problem_of(name)
    if problem:
        raise InvalidTopicError(f"Topic name is invalid: {problem}")


def missing_topic(name: str) -> InvalidTopicError | UnknownTopicOrPartitionError:
    """Return what is the matter with a topic that is not there: it cannot be, or it is not."""
    try:
        check_name(name)
    except InvalidTopicError as error:
        return error
    return UnknownTopicOrPartitionError()


class TakenNames:
    """The names of topics that there are: new ones differ from them, and not by . and _ alone."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        self._unified = {_unified(name): name for name in self._names if _may_collide(name)}

    def check(self, name: str) -> None:
        """Raise for a name that no topic may have, or that one has already, or nearly so."""
        check_name(name)
        if name in self._names:
            raise TopicAlreadyExistsError(f"Topic '{name}' already exists.")
        other = self._unified.get(_unified(name)) if _may_collide(name) else None
        if other is not None:
            raise InvalidTopicError(f"Topic '{name}' collides with existing topic: {other}")


def check_how_many(new: Sequence[NewTopic], defaults: TopicDefaults) -> None:
    """Raise PolicyViolationError if a request makes too many partitions."""
    numbers = (
        len(each.assignments) or (each.partitions if each.partitions > 0 else defaults.partitions)
        for each in new
    )
    if sum(numbers) > MOST_AT_ONCE:
        raise PolicyViolationError("Excessively large number of partitions per request.")


def check_configs(new: NewTopic) -> None:
    """Raise InvalidConfigError for settings that are named without a value."""
    empty = [name for name, text in new.configs if text is None]
    if empty:
        raise InvalidConfigError(f"Null value not supported for topic configs: {', '.join(empty)}")


def plan_replicas(
    new: NewTopic, image: ClusterImage, *, defaults: TopicDefaults, random: Random
) -> list[Replicas]:
    """Return the replicas of a new topic's partitions."""
    if new.assignments:
        return _assigned_by_hand(new, image)
    if new.replication_factor < NOT_SAID or new.replication_factor == 0:
        raise InvalidReplicationFactorError(
            "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if new.partitions < NOT_SAID or new.partitions == 0:
        raise InvalidPartitionsError(
            "Number of partitions was set to an invalid non-positive value."
        )
    extent = Extent(
        defaults.partitions if new.partitions == NOT_SAID else new.partitions,
        defaults.replication_factor
        if new.replication_factor == NOT_SAID
        else new.replication_factor,
    )
    return spread(_racks(image), extent, random=random)


def plan_more_partitions(
    topic: TopicImage,
    count: int,
    *,
    assignments: Sequence[Replicas] | None,
    image: ClusterImage,
    random: Random,
) -> list[Replicas]:
    """Return the replicas of the partitions that a topic is to get, so that it has `count`."""
    present = len(topic.partitions)
    if count == present:
        raise InvalidPartitionsError(f"Topic already has {present} partition(s).")
    if count < present:
        raise InvalidPartitionsError(
            f"The topic {topic.name} currently has {present} partition(s);"
            f" {count} would not be an increase."
        )
    added = count - present
    if added > MOST_AT_ONCE:
        raise PolicyViolationError("Excessively large number of partitions per request.")
    if assignments is None:
        extent = Extent(added, topic.replication_factor, present)
        leader_of_0 = topic.partitions[0].replicas[0]
        return spread(_racks(image), extent, random=random, leader_of_0=leader_of_0)
    if len(assignments) != added:
        raise InvalidReplicaAssignmentError(
            f"Attempted to add {added} additional partition(s), but only"
            f" {len(assignments)} assignment(s) were specified."
        )
    for replicas in assignments:
        _check_replicas(replicas, image, expected=topic.replication_factor)
    return [*assignments]


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


def _assigned_by_hand(new: NewTopic, image: ClusterImage) -> list[Replicas]:
    if new.replication_factor != NOT_SAID:
        raise InvalidRequestError(
            "A manual partition assignment was specified, but replication factor was not set to -1."
        )
    if new.partitions != NOT_SAID:
        raise InvalidRequestError(
            "A manual partition assignment was specified, but numPartitions was not set to -1."
        )
    assigned: dict[int, Replicas] = {}
    for index, replicas in new.assignments:
        if index in assigned:
            raise InvalidReplicaAssignmentError(
                f"Found multiple manual partition assignments for partition {index}"
            )
        _check_replicas(replicas, image, expected=len(new.assignments[0][1]))
        assigned[index] = replicas
    if set(assigned) != set(range(len(assigned))):
        raise InvalidReplicaAssignmentError(
            "partitions should be a consecutive 0-based integer sequence"
        )
    return [assigned[index] for index in range(len(assigned))]


def _check_replicas(replicas: Replicas, image: ClusterImage, *, expected: int) -> None:
    """Raise for brokers that a partition of a topic with so many replicas cannot have."""
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

"""Placement of a topic's replicas on brokers (Kafka: `AdminUtils.assignReplicasToBrokers`).

    spread     Kafka's algorithm of the ZooKeeper era: leaders round robin from a random broker;
               followers likewise, with a shift that grows by one in each round of leaders. If all
               brokers have a rack, no rack gets a second replica before each has one.
    textbook   partition i is led by broker i mod n, its replica j is on broker (i + j) mod n

The first replica of a partition is its preferred leader.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from cordwood.core.errors import InvalidReplicationFactorError
from cordwood.core.ports import Random

Replicas: TypeAlias = tuple[int, ...]


class PlacementSpec(NamedTuple):
    """The partitions to place, from `first` on, with their replication factor."""

    partitions: int
    replication_factor: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class PlacementStart:
    """The position of partition 0's leader in the broker order, and its first follower's shift."""

    leader: int
    shift: int


def draw_start(brokers: int, random: Random) -> PlacementStart:
    """Return a random start."""
    return PlacementStart(random.below(brokers), random.below(brokers))


def spread(
    racks: Mapping[int, str | None],
    spec: PlacementSpec,
    *,
    random: Random,
    leader_of_0: int | None = None,
) -> list[Replicas]:
    """Return the replicas of each partition; `racks` has the rack of each broker by its id.

    `leader_of_0` is given for a topic that grows: its placement continues from partition 0.
    """
    ensure_enough(len(racks), spec.replication_factor)
    order = _order(racks)
    start = draw_start(len(order), random)
    if leader_of_0 is not None:
        position = next((at for at, broker in enumerate(order) if broker >= leader_of_0), 0)
        start = PlacementStart(position, position)
    return spread_from(racks, spec, start=start)


def spread_from(
    racks: Mapping[int, str | None], spec: PlacementSpec, *, start: PlacementStart
) -> list[Replicas]:
    """Return the replicas of each partition, placed from this start."""
    order = _order(racks)
    shift = start.shift
    placed = []
    for partition in range(spec.first, spec.first + spec.partitions):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        first = (partition + start.leader) % len(order)
        candidates = _followers(order, first, shift=shift * _stride(racks))
        chosen = [order[first]]
        while len(chosen) < spec.replication_factor:
            broker = next(candidates)
            if _fits(broker, chosen, racks):
                chosen.append(broker)
        placed.append(tuple(chosen))
    return placed


def textbook(brokers: Sequence[int], spec: PlacementSpec) -> list[Replicas]:
    """Return the replicas of each partition."""
    ensure_enough(len(brokers), spec.replication_factor)
    order = sorted(brokers)
    return [
        tuple(order[(partition + j) % len(order)] for j in range(spec.replication_factor))
        for partition in range(spec.first, spec.first + spec.partitions)
    ]


def ensure_enough(brokers: int, replication_factor: int) -> None:
    """Raise InvalidReplicationFactorError for more replicas than brokers."""
    if replication_factor > brokers:
        raise InvalidReplicationFactorError(
            f"Unable to replicate the partition {replication_factor} time(s): The target"
            f" replication factor of {replication_factor} cannot be reached because only"
            f" {brokers} broker(s) are registered."
        )


def _has_racks(racks: Mapping[int, str | None]) -> bool:
    return None not in racks.values()


def _stride(racks: Mapping[int, str | None]) -> int:
    """Return the number of brokers that a shift by one skips: one of each rack."""
    return len(set(racks.values())) if _has_racks(racks) else 1


def _order(racks: Mapping[int, str | None]) -> list[int]:
    """Return the brokers by id, or alternating between the racks if all brokers have one."""
    if not _has_racks(racks):
        return sorted(racks)
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(str(racks[broker]), []).append(broker)
    turns = zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker for turn in turns for broker in turn if broker is not None]


def _followers(order: Sequence[int], first: int, *, shift: int) -> Iterator[int]:
    """Yield candidates for followers, in an endless cycle."""
    others = len(order) - 1
    at = 0
    while True:
        yield order[(first + 1 + (shift + at) % others) % len(order)]
        at += 1


def _fits(broker: int, chosen: Sequence[int], racks: Mapping[int, str | None]) -> bool:
    """Return whether a broker may have the next replica: each rack gets one before a second."""
    if broker in chosen:
        return False
    if not _has_racks(racks):
        return True
    used = {racks[each] for each in chosen}
    return racks[broker] not in used or used == set(racks.values())

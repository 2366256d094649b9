"""On which brokers the replicas of a topic's partitions are to be.

    spread     as Kafka's ZooKeeper brokers do it: leaders round robin from anywhere, followers
               likewise, one further each time the leaders begin anew; and where all brokers name
               their racks no rack has two replicas before each has one
    textbook   partition i is led by broker i mod n, its replica j is on broker (i + j) mod n

The first of a partition's replicas is the one that is to lead it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple, TypeAlias

from cordwood.core.errors import InvalidReplicationFactorError
from cordwood.core.ports import Random

Replicas: TypeAlias = tuple[int, ...]


class Extent(NamedTuple):
    """Which partitions are to be placed, and how often; those before `first` have their place."""

    partitions: int
    replication_factor: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class Beginning:
    """With which broker of the order partition 0 begins, and how far off its first follower is."""

    start: int
    shift: int


def drawn(brokers: int, random: Random) -> Beginning:
    """Return a beginning by chance."""
    return Beginning(random.below(brokers), random.below(brokers))


def spread(
    racks: Mapping[int, str | None],
    extent: Extent,
    *,
    random: Random,
    leader_of_0: int | None = None,
) -> list[Replicas]:
    """Return the replicas of each partition; `racks` has the rack of each broker by its id.

    Partitions that are added to a topic go on from where its partition 0 is led.
    """
    ensure_enough(len(racks), extent.replication_factor)
    order = _order(racks)
    beginning = drawn(len(order), random)
    if leader_of_0 is not None:
        start = next((at for at, broker in enumerate(order) if broker >= leader_of_0), 0)
        beginning = Beginning(start, start)
    return spread_from(racks, extent, beginning=beginning)


def spread_from(
    racks: Mapping[int, str | None], extent: Extent, *, beginning: Beginning
) -> list[Replicas]:
    """Return the replicas of each partition, of which the first begins as it is said."""
    order = _order(racks)
    shift = beginning.shift
    placed = []
    for partition in range(extent.first, extent.first + extent.partitions):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        first = (partition + beginning.start) % len(order)
        candidates = _followers(order, first, shift=shift * _stride(racks))
        chosen = [order[first]]
        while len(chosen) < extent.replication_factor:
            broker = next(candidates)
            if _fits(broker, chosen, racks):
                chosen.append(broker)
        placed.append(tuple(chosen))
    return placed


def textbook(brokers: Sequence[int], extent: Extent) -> list[Replicas]:
    """Return the replicas of each partition."""
    ensure_enough(len(brokers), extent.replication_factor)
    order = sorted(brokers)
    return [
        tuple(order[(partition + j) % len(order)] for j in range(extent.replication_factor))
        for partition in range(extent.first, extent.first + extent.partitions)
    ]


def ensure_enough(brokers: int, replication_factor: int) -> None:
    """Refuse more replicas than there are brokers."""
    if replication_factor > brokers:
        raise InvalidReplicationFactorError(
            f"Unable to replicate the partition {replication_factor} time(s): The target"
            f" replication factor of {replication_factor} cannot be reached because only"
            f" {brokers} broker(s) are registered."
        )


def _has_racks(racks: Mapping[int, str | None]) -> bool:
    return None not in racks.values()


def _stride(racks: Mapping[int, str | None]) -> int:
    """Return by how many brokers a shift moves: by one of each rack."""
    return len(set(racks.values())) if _has_racks(racks) else 1


def _order(racks: Mapping[int, str | None]) -> list[int]:
    """Return the brokers in the order of their ids, or one of each rack in turn."""
    if not _has_racks(racks):
        return sorted(racks)
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(str(racks[broker]), []).append(broker)
    turns = zip_longest(*(by_rack[rack] for rack in sorted(by_rack)))
    return [broker for turn in turns for broker in turn if broker is not None]


def _followers(order: Sequence[int], first: int, *, shift: int) -> Iterator[int]:
    """Yield brokers that may follow the leader, round and round."""
    others = len(order) - 1
    at = 0
    while True:
        yield order[(first + 1 + (shift + at) % others) % len(order)]
        at += 1


def _fits(broker: int, chosen: Sequence[int], racks: Mapping[int, str | None]) -> bool:
    """Whether a broker may have the next replica: no rack has two before each has one."""
    if broker in chosen:
        return False
    if not _has_racks(racks):
        return True
    used = {racks[each] for each in chosen}
    return racks[broker] not in used or used == set(racks.values())

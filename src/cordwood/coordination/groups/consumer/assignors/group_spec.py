"""Input and output of an assignor (Kafka: `GroupSpec`, `GroupAssignment`)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple, Protocol, TypeAlias

from cordwood.coordination.groups.classic.protocol_vote import hash_map_order
from cordwood.core.uuids import Uuid

TopicPartitionSets: TypeAlias = Mapping[Uuid, frozenset[int]]
"""Partitions by topic id, without topics that have none."""

GroupAssignment: TypeAlias = Mapping[str, TopicPartitionSets]
"""The target partitions of members; a missing member has none."""

NO_PARTITIONS: Final[TopicPartitionSets] = {}
_HALVES: Final = Struct(">qq")
_WORDS: Final = Struct(">4I")
_SMALLEST_TABLE: Final = 16


class PartitionAssignorError(Exception):
    """An assignor cannot assign the partitions (Kafka: `PartitionAssignorException`)."""


class MemberSpec(NamedTuple):
    """A member for an assignor; its subscribed topics exist."""

    topic_ids: frozenset[Uuid]
    assigned: TopicPartitionSets = NO_PARTITIONS
    instance_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """All members of a group, and the partition counts of their topics."""

    members: Mapping[str, MemberSpec]
    partitions: Mapping[Uuid, int]
    #: Whether all members have the same topics.
    is_homogeneous: bool

    @property
    def member_ids(self) -> list[str]:
        """The ids of all members, in the order in which Kafka's hash map has them."""
        return hash_map_order(sorted(self.members))

    def partition_count(self, topic_id: Uuid) -> int:
        """Return the partition count of a topic; an unknown topic fails the assignment."""
        count = self.partitions.get(topic_id)
        if count is None:
            raise PartitionAssignorError(f"{topic_id.hex()} is subscribed, but does not exist")
        return count


class PartitionAssignor(Protocol):
    """Computes the target partitions of all members; equal groups give equal results."""

    @property
    def name(self) -> str:
        """The name in heartbeats and settings."""

    def assign(self, spec: GroupSpec) -> GroupAssignment:
        """Assign every partition to one member, or raise PartitionAssignorError."""


def hash_order(topic_ids: Iterable[Uuid]) -> list[Uuid]:
    """Return topic ids in the order in which Java iterates over a hash set of them."""
    found = in_topic_order(topic_ids)
    table = _SMALLEST_TABLE
    while len(found) * 4 > table * 3:
        table *= 2
    return sorted(found, key=lambda each: _spread_hash(each) & (table - 1))


def _spread_hash(topic_id: Uuid) -> int:
    first, second, third, fourth = _WORDS.unpack(topic_id)
    value: int = first ^ second ^ third ^ fourth
    return value ^ value >> 16


def in_topic_order(topic_ids: Iterable[Uuid]) -> list[Uuid]:
    """Return topic ids in the order of `topic_order`, without a call of Python for each."""
    return sorted(topic_ids, key=_HALVES.unpack)


def topic_order(topic_id: Uuid) -> tuple[int, int]:
    """Return the sort key of a topic id: Java compares its halves as signed numbers."""
    high, low = _HALVES.unpack(topic_id)
    return high, low

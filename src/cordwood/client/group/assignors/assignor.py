"""Assignor of a classic group: its name and its function (Java: `ConsumerPartitionAssignor`)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from cordwood.core.types import TopicPartition


class SubscribedMember(NamedTuple):
    """A member of the group, its topics, and the partitions that it owned in a generation."""

    member_id: str
    topics: frozenset[str]
    owned: tuple[TopicPartition, ...] = ()
    generation: int = -1
    instance_id: str | None = None

    @property
    def order(self) -> tuple[bool, str]:
        """Order of the members: static ones first, by instance id."""
        return (self.instance_id is None, self.instance_id or self.member_id)


GroupAssignment: TypeAlias = dict[str, list[TopicPartition]]
#: Assigns the partitions of the subscribed topics, given their partition counts.
Assign: TypeAlias = Callable[[Sequence[SubscribedMember], Mapping[str, int]], GroupAssignment]


@dataclass(frozen=True, slots=True)
class Assignor:
    """A named assignment function; a cooperative one revokes before it gives to another member."""

    name: str
    assign: Assign
    is_cooperative: bool = False


def topics_of(members: Iterable[SubscribedMember]) -> frozenset[str]:
    """Return all subscribed topics."""
    return frozenset(topic for member in members for topic in member.topics)

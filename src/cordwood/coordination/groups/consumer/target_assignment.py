"""Target assignment of a whole group (Kafka: `TargetAssignmentBuilder`).

Only members whose target changes get a record. The record of the assignment epoch follows them.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, Self

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.groups.classic.protocol_vote import hash_map_order
from cordwood.coordination.groups.consumer.assignors.group_spec import (
    NO_PARTITIONS,
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    PartitionAssignor,
    PartitionAssignorError,
)
from cordwood.coordination.groups.consumer.assignors.range_assignor import RangeAssignor
from cordwood.coordination.groups.consumer.assignors.uniform_assignor import UniformAssignor
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.group.subscriptions import Subscriptions
from cordwood.coordination.topic_view import TopicFacts, TopicView, existing_topics
from cordwood.core.errors import UnknownServerError
from cordwood.core.uuids import Uuid

ASSIGNORS: Final[Mapping[str, PartitionAssignor]] = {
    each.name: each for each in (UniformAssignor(), RangeAssignor())
}


class MemberChange(NamedTuple):
    """A member before and after a request; `before` is None if the member id is new."""

    before: ConsumerGroupMember | None
    after: ConsumerGroupMember
    #: Those of the group after the request.
    subscriptions: Subscriptions

    @classmethod
    def of(
        cls,
        group: ConsumerGroup,
        *,
        before: ConsumerGroupMember | None,
        after: ConsumerGroupMember,
    ) -> Self:
        """Return the change of a group's member."""
        removed = () if before is None else (before,)
        return cls(before, after, group.subscriptions.after(removed, (after,)))

    @property
    def removed(self) -> tuple[ConsumerGroupMember, ...]:
        """The member to count no longer."""
        return () if self.before is None else (self.before,)


class TargetAssignment(NamedTuple):
    """A new target of all members, with its records."""

    members: GroupAssignment
    records: list[CoordinatorRecord]


def assign_targets(
    group: ConsumerGroup, change: MemberChange, *, epoch: int, view: TopicView, assignor: str
) -> GroupAssignment:
    """Compute the targets of all members, with one of them changed."""
    members = {**group.members, change.after.member_id: change.after}
    if change.before is not None and change.before.member_id != change.after.member_id:
        members.pop(change.before.member_id, None)
    subscriptions = change.subscriptions
    topics = {
        each.name: each for each in existing_topics(subscriptions.topic_names(view.names()), view)
    }
    topic_ids = _TopicIds(topics)
    spec = GroupSpec(
        members={
            member_id: MemberSpec(
                topic_ids[subscriptions.of_member(member)],
                group.target_of(member),
                member.instance_id,
            )
            for member_id, member in members.items()
        },
        partitions={each.topic_id: each.partitions for each in topics.values()},
        is_homogeneous=subscriptions.is_homogeneous(len(members)),
    )
    try:
        return ASSIGNORS[assignor].assign(spec)
    except PartitionAssignorError as error:
        raise UnknownServerError(
            f"Failed to compute a new target assignment for epoch {epoch}: {error}"
        ) from error


def target_records(
    group: ConsumerGroup,
    members: Collection[str],
    *,
    targets: GroupAssignment,
    epoch: int,
    now_ms: int,
) -> list[CoordinatorRecord]:
    """Return the records of targets that change, and of the assignment epoch."""
    present = group.target
    changed = [each for each in members if present.get(each) != targets.get(each, NO_PARTITIONS)]
    return [
        *(
            records.target_member(group.group_id, each, partitions=targets.get(each, NO_PARTITIONS))
            for each in hash_map_order(sorted(changed), among=len(members))
        ),
        records.target_metadata(group.group_id, epoch, timestamp_ms=now_ms),
    ]


def topic_ids_of(
    subscriptions: Subscriptions, member: ConsumerGroupMember, *, topics: Mapping[str, TopicFacts]
) -> frozenset[Uuid]:
    """Return the ids of the topics that a member subscribes, as far as they exist."""
    return _TopicIds(topics)[subscriptions.of_member(member)]


class _TopicIds(dict[frozenset[str], frozenset[Uuid]]):
    """The ids of existing topics by their names; most members of a group have equal ones."""

    def __init__(self, topics: Mapping[str, TopicFacts]) -> None:
        super().__init__()
        self._topics = topics

    def __missing__(self, names: frozenset[str]) -> frozenset[Uuid]:
        topics = self._topics
        found = frozenset(topics[each].topic_id for each in names if each in topics)
        self[names] = found
        return found

"""ConsumerGroupDescribe of one group (Kafka: `ConsumerGroup.asDescribedGroup`)."""

from collections.abc import Iterator
from typing import TypeAlias

from cordwood.coordination.groups.consumer.assignors.group_spec import (
    NO_PARTITIONS,
    TopicPartitionSets,
    in_topic_order,
)
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.group.topic_partitions import without_epochs
from cordwood.coordination.topic_view import TopicView
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.protocol.messages.consumer_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    TopicPartitions,
)

_CLASSIC_TYPE = 0
_CONSUMER_TYPE = 1


MembersLater: TypeAlias = list[Iterator[Member]]
"""Gets the members of a description, to be described one by one after the event."""


def described(
    group: ConsumerGroup,
    view: TopicView,
    *,
    default_assignor: str,
    later: MembersLater | None = None,
) -> DescribedGroup:
    """Return the description of a group; with `later` its members are described later.

    They are those of this moment: members and targets are values, which are replaced, not changed.
    """
    members = _members(group, view)
    if later is not None:
        later.append(members)
    return DescribedGroup(
        error_code=0,
        group_id=group.group_id,
        group_state=group.state_name,
        group_epoch=group.group_epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor() or default_assignor,
        members=[*members] if later is None else [],
    )


def _members(group: ConsumerGroup, view: TopicView) -> Iterator[Member]:
    """Return descriptions of the present members, each made when it is taken."""
    members, targets = [*group.members.values()], dict(group.target)
    return (_member(each, targets.get(each.member_id, NO_PARTITIONS), view) for each in members)


def not_described(group_id: str, error: GroupIdNotFoundError) -> DescribedGroup:
    """Return the description of a group that is missing or of another kind."""
    return DescribedGroup(
        error_code=error.code,
        error_message=str(error),
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def _member(member: ConsumerGroupMember, target: TopicPartitionSets, view: TopicView) -> Member:
    assigned = _joined(without_epochs(member.assigned), without_epochs(member.pending_revocation))
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=list(member.topic_names),
        subscribed_topic_regex=member.topic_regex,
        assignment=_assignment(assigned, view),
        target_assignment=_assignment(target, view),
        member_type=_CONSUMER_TYPE if member.classic is None else _CLASSIC_TYPE,
    )


def _joined(first: TopicPartitionSets, second: TopicPartitionSets) -> TopicPartitionSets:
    """Return the partitions of two sets: a member may still own what it is giving up."""
    none = frozenset[int]()
    return {
        topic_id: first.get(topic_id, none) | second.get(topic_id, none)
        for topic_id in first.keys() | second.keys()
    }


def _assignment(partitions: TopicPartitionSets, view: TopicView) -> Assignment:
    """Return partitions with the names of their topics, without topics that were deleted."""
    found = list[TopicPartitions]()
    for topic_id in in_topic_order(partitions):
        topic = view.by_id(topic_id)
        if topic is not None:
            found.append(
                TopicPartitions(
                    topic_id=topic_id,
                    topic_name=topic.name,
                    partitions=sorted(partitions[topic_id]),
                )
            )
    return Assignment(topic_partitions=found)

"""Member of a request: a known, a new or a replaced one (Kafka: `getOrMaybeSubscribe…Member`)."""

from cordwood.coordination.groups.consumer.assignors.group_spec import NO_PARTITIONS
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    STATIC_LEAVE_EPOCH,
    ConsumerGroupMember,
)
from cordwood.coordination.groups.consumer.group.topic_partitions import (
    OwnedByClient,
    contains_all,
)
from cordwood.coordination.groups.consumer.member_update import JoinedMember
from cordwood.coordination.outcome import Outcome
from cordwood.core.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupMaxSizeReachedError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
)


def check_size(group: ConsumerGroup, member_id: str, *, max_size: int) -> None:
    """Reject a member that a full group does not have."""
    if len(group.members) >= max_size and member_id not in group.members:
        raise GroupMaxSizeReachedError(
            f"The consumer group has reached its maximum capacity of {max_size} members."
        )


def check_epoch(member: ConsumerGroupMember, epoch: int, *, owned: OwnedByClient | None) -> None:
    """Fence a member with another epoch, unless the response of its last epoch was lost."""
    if epoch in (0, member.member_epoch):
        return
    is_lost_response = epoch == member.previous_member_epoch
    if epoch < member.member_epoch and is_lost_response and contains_all(member.assigned, owned):
        return
    size = "greater" if epoch > member.member_epoch else "smaller"
    raise FencedMemberEpochError(
        f"The consumer group member has a {size} member epoch ({epoch}) than the one known by the "
        f"group coordinator ({member.member_epoch}). The member must abandon all its partitions "
        "and rejoin."
    )


def known_member(
    group: ConsumerGroup, member_id: str, *, instance_id: str | None
) -> ConsumerGroupMember:
    """Return the member of a request that does not join."""
    if instance_id is None:
        return group.member(member_id)
    member = group.static_member(instance_id)
    if member is None:
        raise UnknownMemberIdError(f"Instance id {instance_id} is unknown.")
    check_instance(member, member_id)
    return member


def check_instance(member: ConsumerGroupMember, member_id: str) -> None:
    """Fence a client whose instance id belongs to another member."""
    if member.member_id != member_id:
        raise FencedInstanceIdError(
            f"Static member {member_id} with instance id {member.instance_id} was fenced by member "
            f"{member.member_id}."
        )


def joined_dynamic_member(group: ConsumerGroup, member_id: str) -> JoinedMember:
    """Return a member that joins, or joins again."""
    known = group.members.get(member_id)
    return JoinedMember(known, known or ConsumerGroupMember(member_id=member_id))


def joined_static_member(
    group: ConsumerGroup, member_id: str, *, instance_id: str, is_classic: bool
) -> JoinedMember:
    """Return a static member that joins, in the place of the one that has left.

    Only members of the classic protocol may be replaced while they are in the group.
    """
    existing = group.static_member(instance_id)
    if existing is None:
        return joined_dynamic_member(group, member_id)
    has_left = existing.member_epoch == STATIC_LEAVE_EPOCH
    if not is_classic and existing.classic is None and not has_left:
        raise UnreleasedInstanceIdError(
            f"Static member {member_id} with instance id {instance_id} cannot join the group "
            f"because the instance id is owned by {existing.member_id} member."
        )
    return JoinedMember(existing, existing.replaced_by(member_id))


def replace_member(
    state: ConsumerGroupShardState, group: ConsumerGroup, *, joined: JoinedMember, outcome: Outcome
) -> None:
    """Write a static member under its next id, with the target and the partitions of the old."""
    old, new = joined.in_group, joined.base
    if old is None or old is new:
        return
    outcome.timers += state.timers.cancel_all(group.group_id, old.member_id)
    target = group.target.get(old.member_id, NO_PARTITIONS)
    outcome.records += [
        *records.member_tombstones(group.group_id, old.member_id),
        records.member_metadata(group.group_id, new),
        records.target_member(group.group_id, new.member_id, partitions=target),
        records.current_assignment(group.group_id, new),
    ]

"""Way of one member to its target assignment (Kafka: `CurrentAssignmentBuilder`).

    STABLE ──► UNREVOKED_PARTITIONS ──► UNRELEASED_PARTITIONS ──► STABLE
               the client still owns     other members still own
               what it has to give up    what it will receive

A member gives up partitions before it enters the target epoch. In the target epoch it receives the
partitions that no other member holds, and the others once they are free.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from cordwood.coordination.groups.consumer.assignors.group_spec import TopicPartitionSets
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ConsumerGroupMember,
    MemberState,
)
from cordwood.coordination.groups.consumer.group.topic_partitions import (
    OwnedByClient,
    PartitionEpochs,
    TopicPartitionEpochs,
    contains_any,
)
from cordwood.core.errors import FencedMemberEpochError
from cordwood.core.uuids import Uuid

_NO_EPOCHS: Final[PartitionEpochs] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """Target, ownership and subscription in one step of a member."""

    target_epoch: int
    target: TopicPartitionSets
    #: Partitions that the client reports; None is unchanged, hence unknown.
    owned: OwnedByClient | None
    has_subscription_changed: bool
    #: Ids of the topics that the member subscribes, by name and by regular expression.
    subscribed: frozenset[Uuid]
    #: Whether the member subscribes a topic, also one that does not exist.
    has_subscription: bool
    #: Whether a member of the group holds a partition.
    is_held: Callable[[Uuid, int], bool]


def reconciled(member: ConsumerGroupMember, step: Reconciliation) -> ConsumerGroupMember:
    """Return the member after one step, the same object if it stays as it is."""
    if not _can_move(member, step):
        return _without_unsubscribed(member, step) if step.has_subscription_changed else member
    if member.state is not MemberState.UNKNOWN:
        return _next_assignment(member, member.member_epoch, step)
    if step.owned is None or step.owned:
        raise FencedMemberEpochError(
            "The consumer group member is in a unknown state. The member must abandon all its "
            "partitions and rejoin."
        )
    return _next_assignment(member, step.target_epoch, step)


def _can_move(member: ConsumerGroupMember, step: Reconciliation) -> bool:
    """Return whether the member can move towards the target."""
    match member.state:
        case MemberState.STABLE:
            return member.member_epoch != step.target_epoch
        case MemberState.UNREVOKED_PARTITIONS:
            return not contains_any(member.pending_revocation, step.owned)
        case _:
            return True


def _without_unsubscribed(member: ConsumerGroupMember, step: Reconciliation) -> ConsumerGroupMember:
    """Take away the partitions of topics that the member has unsubscribed.

    As in Kafka, a member without a subscription and partitions begins its epoch again.
    """
    dropped = member.assigned.keys() - step.subscribed
    if not dropped and (step.has_subscription or member.pending_revocation):
        return member
    assigned = {topic: each for topic, each in member.assigned.items() if topic not in dropped}
    pending = dict(member.pending_revocation)
    for topic in dropped:
        pending[topic] = {**pending.get(topic, _NO_EPOCHS), **member.assigned[topic]}
    if pending and contains_any(pending, step.owned):
        return member.advanced(
            member.member_epoch,
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=assigned,
            pending_revocation=pending,
        )
    return member.advanced(
        member.member_epoch,
        state=member.state,
        assigned=assigned,
        pending_revocation=member.pending_revocation,
    )


def _next_assignment(
    member: ConsumerGroupMember, epoch: int, step: Reconciliation
) -> ConsumerGroupMember:
    """Return the member with its next partitions; `epoch` is the one it stays in to revoke."""
    kept, revoked = _divided(member.assigned, step)
    if revoked and contains_any(revoked, step.owned):
        return member.advanced(
            epoch,
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=kept,
            pending_revocation=revoked,
        )
    added, is_waiting = _added(member, kept, step=step)
    for topic, partitions in added.items():
        given = dict.fromkeys(partitions, step.target_epoch)
        kept[topic] = {**kept.get(topic, _NO_EPOCHS), **given}
    state = MemberState.UNRELEASED_PARTITIONS if is_waiting else MemberState.STABLE
    return member.advanced(step.target_epoch, state=state, assigned=kept)


def _divided(
    assigned: TopicPartitionEpochs, step: Reconciliation
) -> tuple[dict[Uuid, PartitionEpochs], dict[Uuid, PartitionEpochs]]:
    """Return the assigned partitions that stay, and those that the client has to give up."""
    kept, revoked = dict[Uuid, PartitionEpochs](), dict[Uuid, PartitionEpochs]()
    for topic, epochs in assigned.items():
        target = step.target.get(topic, ()) if topic in step.subscribed else ()
        staying = {each: epoch for each, epoch in epochs.items() if each in target}
        going = {each: epoch for each, epoch in epochs.items() if each not in target}
        if staying:
            kept[topic] = staying
        if going:
            revoked[topic] = going
    return kept, revoked


def _added(
    member: ConsumerGroupMember, kept: TopicPartitionEpochs, *, step: Reconciliation
) -> tuple[dict[Uuid, list[int]], bool]:
    """Return the partitions that the member can receive, and whether others are not free yet."""
    added = dict[Uuid, list[int]]()
    is_waiting = False
    for topic in step.target.keys() & step.subscribed:
        own = member.pending_revocation.get(topic, _NO_EPOCHS)
        missing = sorted(step.target[topic] - kept.get(topic, _NO_EPOCHS).keys())
        free = [each for each in missing if each in own or not step.is_held(topic, each)]
        is_waiting = is_waiting or len(free) < len(missing)
        if free:
            added[topic] = free
    return added, is_waiting

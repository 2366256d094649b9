"""Conversion of a consumer group into a classic one (Kafka: `convertToClassicGroup`).

The last member of the consumer protocol leaves, or a client of the classic protocol takes its
place. The classic group begins Stable, with the group epoch as its generation and with the target
assignments, and rebalances at once, because members may still own other partitions.

The classic group is in the registry before its records are in the log: its rebalance begins here.
"""

from collections.abc import Sequence
from typing import Final

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
)
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.classic.group_metadata_record import (
    assigned_value,
    metadata_record,
)
from cordwood.coordination.groups.consumer.assignors.group_spec import GroupAssignment
from cordwood.coordination.groups.consumer.consumer_group_state import ConsumerGroupShardState
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import write_assignment
from cordwood.coordination.groups.consumer.group.consumer_group import PROTOCOL_TYPE, ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.group.consumer_group_records import group_tombstones
from cordwood.coordination.groups.consumer.member_timers import session_timer
from cordwood.coordination.outcome import Outcome
from cordwood.core.errors import BytesError, GroupIdNotFoundError, KafkaError

_POLICIES: Final = frozenset({"bidirectional", "downgrade"})


def can_downgrade(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    *,
    leaving: Sequence[ConsumerGroupMember],
    joining: int = 0,
) -> bool:
    """Return whether the remaining members all use the classic protocol, and may stay with it."""
    remaining = len(group.members) - len(leaving) + joining
    return (
        0 < remaining <= state.settings.max_size
        and group.is_classic_without(leaving)
        and state.settings.consumer_migration_policy.lower() in _POLICIES
    )


def downgrade(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    *,
    leaving: Sequence[ConsumerGroupMember],
    now_ms: int,
) -> Outcome:
    """Convert a group whose members of the consumer protocol leave."""
    gone = {each.member_id for each in leaving}
    staying = [each for each in group.members.values() if each.member_id not in gone]
    targets = {each.member_id: group.target.get(each.member_id, {}) for each in staying}
    classic = _classic_group(group, staying, now_ms=now_ms)
    _assign(state, classic, targets)
    outcome = Outcome(records=group.tombstones())
    outcome.add(_replaced(state, group, classic, now_ms=now_ms))
    outcome.add(state.classic.rebalance(classic, now_ms=now_ms))
    return outcome


def downgrade_for(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    *,
    replaced: ConsumerGroupMember,
    joining: ConsumerGroupMember,
    with_rebalance: bool,
    now_ms: int,
) -> Outcome:
    """Convert a group whose static member of the consumer protocol is replaced by a classic one.

    The records of the replacement come before these in the batch.
    """
    others = [each for each in group.members.values() if each.member_id != replaced.member_id]
    members = [*others, joining]
    targets = {each.member_id: group.target.get(each.member_id, {}) for each in others}
    targets[joining.member_id] = group.target.get(replaced.member_id, {})
    classic = _classic_group(group, members, now_ms=now_ms)
    _assign(state, classic, targets)
    tombstones = group_tombstones(
        group.group_id,
        sorted(each.member_id for each in members),
        regexes=sorted(group.subscriptions.resolved),
    )
    outcome = Outcome(records=tombstones)
    outcome.add(_replaced(state, group, classic, now_ms=now_ms))
    if with_rebalance:
        outcome.add(state.classic.rebalance(classic, now_ms=now_ms))
    return outcome


def _classic_group(
    group: ConsumerGroup, members: Sequence[ConsumerGroupMember], *, now_ms: int
) -> ClassicGroup:
    made = ClassicGroup(
        group.group_id,
        now_ms,
        ClassicGroupState.STABLE,
        ClassicGroupState.COMPLETING_REBALANCE,
        group.group_epoch,
        PROTOCOL_TYPE,
    )
    for member in members:
        assert member.classic is not None, f"{member.member_id} uses the consumer protocol"
        made.add(
            ClassicGroupMember(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.rebalance_timeout_ms,
                session_timeout_ms=member.classic.session_timeout_ms,
                protocols=tuple(MemberProtocol(*each) for each in member.classic.protocols),
            )
        )
    made.protocol_name = made.select_protocol()
    made.refresh_topics()
    return made


def _assign(
    state: ConsumerGroupShardState, classic: ClassicGroup, targets: GroupAssignment
) -> None:
    """Give the members their targets, in the versions of their subscriptions."""
    try:
        for member in classic.members.values():
            member.assignment = write_assignment(
                targets[member.member_id],
                state.view,
                subscription=member.metadata(classic.protocol_name),
            )
    except BytesError as error:
        raise GroupIdNotFoundError(
            f"Cannot downgrade the classic group {classic.group_id}: {error}."
        ) from error


def _replaced(
    state: ConsumerGroupShardState, group: ConsumerGroup, classic: ClassicGroup, *, now_ms: int
) -> Outcome:
    """Put the classic group into the place of the consumer group, and append its record."""
    value = assigned_value(classic, classic.assignments)
    classic.unsaved = value
    outcome = Outcome(records=[metadata_record(group.group_id, value)])
    for member_id in group.members:
        outcome.timers += state.timers.cancel_all(group.group_id, member_id)
    outcome.add(state.classic.start_sessions(classic, now_ms=now_ms))
    state.registry.put(classic)
    outcome.on_failure = lambda error, at_ms: _restored(state, group, classic, error, at_ms)
    return outcome


def _restored(
    state: ConsumerGroupShardState,
    group: ConsumerGroup,
    classic: ClassicGroup,
    error: KafkaError,
    now_ms: int,
) -> Outcome:
    """Put the consumer group back, because the append was rejected."""
    outcome = state.classic.retire(classic, error, now_ms=now_ms)
    state.registry.put(group)
    timeout_ms = state.configs.session_timeout_ms(group.group_id)
    outcome.timers += [
        session_timer(group.group_id, each, at_ms=now_ms + timeout_ms) for each in group.members
    ]
    return outcome

"""Branches of the classic membership that no transcript has."""

import pytest

from cordwood.client.group.assignors.assignor_table import assignors_of
from cordwood.client.group.classic_membership import ClassicMembership, ClassicMemberState
from cordwood.client.group.consumer_protocol import encode_assignment, encode_subscription
from cordwood.client.group.membership import (
    Effect,
    MembershipEnded,
    MembershipError,
    Rebalance,
    RebalanceKind,
    SendRequest,
)
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    GroupAuthorizationFailedError,
    IllegalGenerationError,
    InconsistentGroupProtocolError,
    UnknownMemberIdError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from cordwood.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from cordwood.protocol.schema import Request
from cordwood.testing.seeded_random import SeededRandom

NONE = frozenset[TopicPartition]()
T0, U0 = partitions_of([("t", 0), ("u", 0)])


def made(*, instance: str | None = None, assignor: str = "range") -> ClassicMembership:
    config = MembershipConfig(
        group_id="g", instance_id=instance, assignors=assignors_of([assignor])
    )
    membership = ClassicMembership(config, ExponentialBackoff(100, 1_000, random=SeededRandom(1)))
    membership.subscribe(TopicSubscription(frozenset({"t"})), 0)
    membership.on_poll(0)
    return membership


def sent(membership: ClassicMembership) -> Request:
    (effect,) = membership.take_effects()
    assert isinstance(effect, SendRequest)
    return effect.request


def joined(membership: ClassicMembership, **fields: object) -> None:
    given = {"protocol_name": "range", "leader": "other", "members": [], **fields}
    response = JoinGroupResponse(error_code=0, generation_id=1, member_id="m", **given)  # type: ignore[arg-type]  # by name
    membership.on_response(sent(membership), response, now_ms=0)


def synced(membership: ClassicMembership, *assigned: object) -> list[Effect]:
    response = SyncGroupResponse(error_code=0, assignment=encode_assignment(assigned))  # type: ignore[arg-type]  # partitions
    membership.on_response(sent(membership), response, now_ms=0)
    return membership.take_effects()


def stable(**options: str) -> ClassicMembership:
    membership = made(**options)
    joined(membership)
    synced(membership, T0)
    membership.on_rebalanced(0)
    return membership


def test_leader_keeps_the_assignment_when_the_coordinator_requires_it() -> None:
    membership = made()

    joined(membership, leader="m", skip_assignment=True)
    membership.take_effects()
    membership.on_partition_counts({"t": 1}, 0)

    request = sent(membership)
    assert isinstance(request, SyncGroupRequest)
    assert request.assignments == []


def test_leader_that_keeps_the_assignment_rejoins_when_partitions_are_added() -> None:
    membership = made()
    metadata = encode_subscription({"t"}, (), generation=-1)
    member = JoinGroupResponseMember(member_id="m", metadata=metadata)
    joined(membership, leader="m", skip_assignment=True, members=[member])
    membership.take_effects()
    membership.on_partition_counts({"t": 1}, 0)
    synced(membership, T0)
    membership.on_rebalanced(0)

    membership.on_metadata({"t": 2}, 0)

    assert membership.needs_poll


def test_unknown_assignor_of_the_group_is_a_final_error() -> None:
    membership = made()

    joined(membership, leader="m", protocol_name="sticky")

    (effect,) = membership.take_effects()
    assert isinstance(effect, MembershipError)
    assert isinstance(effect.error, InconsistentGroupProtocolError)


def test_assignment_of_topics_that_are_not_subscribed_causes_a_rejoin() -> None:
    membership = made()
    joined(membership)

    assert synced(membership, U0) == []
    assert membership.needs_poll


def test_subscription_that_changes_during_the_join_causes_a_rejoin() -> None:
    membership = made()
    joined(membership)
    membership.subscribe(TopicSubscription(frozenset({"t", "u"})), 0)

    synced(membership, T0)
    membership.on_rebalanced(0)

    assert membership.needs_poll


def test_missing_access_is_raised_and_the_next_poll_joins_again() -> None:
    membership = made()

    membership.on_error(sent(membership), GroupAuthorizationFailedError("no"), now_ms=0)

    (effect,) = membership.take_effects()
    assert effect == (effect.error, False)  # type: ignore[union-attr]  # a MembershipError
    assert membership.needs_poll


def test_old_generation_keeps_the_member_id() -> None:
    membership = made()
    joined(membership)

    membership.on_error(sent(membership), IllegalGenerationError("old"), now_ms=0)

    assert membership.identity == ("m", -1)


def test_static_member_that_leaves_sends_nothing() -> None:
    membership = stable(instance="i")

    membership.leave(0, is_leaving_group=None)
    (revoked,) = membership.take_effects()
    membership.on_rebalanced(0)

    assert revoked == Rebalance(RebalanceKind.REVOKED, frozenset({T0}), frozenset())
    assert membership.take_effects() == [MembershipEnded()]


def test_leave_during_a_revocation_ends_after_its_callbacks() -> None:
    membership = stable()
    membership.subscribe(TopicSubscription(frozenset({"u"})), 0)
    membership.on_poll(0)
    membership.take_effects()

    membership.leave(0, is_leaving_group=None)
    membership.on_rebalanced(0)

    assert type(sent(membership)).__name__ == "LeaveGroupRequest"
    assert membership.state is ClassicMemberState.LEAVING


def test_response_of_a_request_that_is_no_longer_awaited_is_ignored() -> None:
    membership = made()
    request = sent(membership)
    membership.leave(0, is_leaving_group=None)
    membership.take_effects()

    member = JoinGroupResponseMember(member_id="m", metadata=b"")
    late = JoinGroupResponse(
        error_code=0,
        generation_id=1,
        protocol_name="range",
        leader="m",
        member_id="m",
        members=[member],
    )
    membership.on_response(request, late, now_ms=0)

    assert membership.take_effects() == []


@pytest.mark.parametrize("assignor", ("range", "cooperative-sticky"))
def test_assignment_that_the_user_takes_over_late_is_lost(assignor: str) -> None:
    """Another member may have processed its records: it must not keep its position."""
    membership = made(assignor=assignor)
    joined(membership)
    synced(membership, T0)

    membership.on_poll_end(0)
    membership.on_time(300_001)  # max.poll.interval.ms has passed
    membership.take_effects()
    membership.on_rebalanced(300_002)

    assert membership.take_effects() == [Rebalance(RebalanceKind.LOST, frozenset({T0}), NONE)]
    membership.on_rebalanced(300_003)
    assert membership.owned == NONE
    request = sent(membership)
    assert isinstance(request, JoinGroupRequest)
    assert request.protocols[0].metadata == encode_subscription({"t"}, NONE, generation=-1)


def test_rest_is_lost_when_the_member_becomes_unknown_during_a_revocation() -> None:
    membership = made(assignor="cooperative-sticky")
    membership.subscribe(TopicSubscription(frozenset({"t", "u"})), 0)
    joined(membership)
    synced(membership, T0, U0)
    membership.on_rebalanced(0)
    membership.subscribe(TopicSubscription(frozenset({"t"})), 0)
    membership.on_poll(0)
    membership.take_effects()

    heartbeat = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    membership.on_error(heartbeat, UnknownMemberIdError("gone"), now_ms=1)
    membership.take_effects()
    membership.on_rebalanced(2)

    assert membership.take_effects() == [Rebalance(RebalanceKind.LOST, frozenset({T0}), NONE)]

"""Branches of the KIP-848 membership that no transcript has."""

import pytest

from cordwood.client.group.consumer_membership import ConsumerMembership, ConsumerMemberState
from cordwood.client.group.heartbeat_fields import PartitionOfId, by_topic_id
from cordwood.client.group.membership import (
    MembershipEnded,
    Rebalance,
    RebalanceKind,
    ResolveTopicIds,
    SendRequest,
)
from cordwood.client.group.membership_config import MembershipConfig
from cordwood.client.group.topic_subscription import TopicSubscription
from cordwood.client.network.exponential_backoff import ExponentialBackoff
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import FencedMemberEpochError, UnknownMemberIdError
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.testing.seeded_random import SeededRandom

T, U = Uuid(b"t" * 16), Uuid(b"u" * 16)
T0, U0 = partitions_of([("t", 0), ("u", 0)])


def made(*, instance: str | None = None) -> ConsumerMembership:
    config = MembershipConfig(group_id="g", instance_id=instance)
    backoff = ExponentialBackoff(100, 1_000, random=SeededRandom(1))
    membership = ConsumerMembership(config, backoff, member_id="m")
    membership.subscribe(TopicSubscription(frozenset({"t", "u"})), 0)
    membership.on_poll(0)
    membership.on_time(0)
    return membership


def sent(membership: ConsumerMembership) -> ConsumerGroupHeartbeatRequest:
    (request,) = (e.request for e in membership.take_effects() if isinstance(e, SendRequest))
    assert isinstance(request, ConsumerGroupHeartbeatRequest)
    return request


def assign(membership: ConsumerMembership, *topic_ids: Uuid) -> None:
    target = by_topic_id(PartitionOfId(each, 0) for each in topic_ids)
    response = ConsumerGroupHeartbeatResponse(
        error_code=0,
        member_epoch=2,
        heartbeat_interval_ms=5_000,
        assignment=Assignment(topic_partitions=target),
    )
    membership.on_response(sent(membership), response, now_ms=0)


def test_partitions_with_names_are_assigned_before_those_without() -> None:
    membership = made()
    membership.on_topic_names({T: "t"}, 0)

    assign(membership, T, U)

    assert membership.take_effects() == [
        ResolveTopicIds(frozenset({U})),
        Rebalance(RebalanceKind.ASSIGNED, frozenset({T0}), frozenset({T0})),
    ]


def test_rest_is_assigned_once_its_name_is_known() -> None:
    membership = made()
    membership.on_topic_names({T: "t"}, 0)
    assign(membership, T, U)
    membership.take_effects()
    membership.on_rebalanced(0)
    membership.on_time(0)

    assert sent(membership).topic_partitions == by_topic_id([PartitionOfId(T, 0)])
    membership.on_topic_names({U: "u"}, 0)
    (added,) = membership.take_effects()
    assert added == Rebalance(RebalanceKind.ASSIGNED, frozenset({U0}), frozenset({T0, U0}))


def test_member_fenced_during_callbacks_loses_the_rest_after_them() -> None:
    membership = made()
    membership.on_topic_names({T: "t"}, 0)
    assign(membership, T)
    membership.take_effects()
    membership.on_time(5_000)

    membership.on_error(sent(membership), FencedMemberEpochError("old"), now_ms=5_000)
    assert membership.take_effects() == []
    membership.on_rebalanced(5_000)

    (lost,) = membership.take_effects()
    assert lost == Rebalance(RebalanceKind.LOST, frozenset({T0}), frozenset())
    assert membership.state is ConsumerMemberState.FENCED


def test_fenced_member_has_no_heartbeat_due_while_its_callbacks_wait() -> None:
    membership = made()
    membership.on_topic_names({T: "t"}, 0)
    assign(membership, T)
    membership.on_time(5_000)
    request = sent(membership)
    membership.on_rebalanced(5_000)  # to be acknowledged once the response is there

    membership.on_error(request, UnknownMemberIdError(), now_ms=5_001)

    assert membership.state is ConsumerMemberState.FENCED
    assert membership.wake_at_ms is None


def test_leave_of_a_member_that_never_joined_sends_nothing() -> None:
    config = MembershipConfig(group_id="g")
    backoff = ExponentialBackoff(100, 1_000, random=SeededRandom(1))
    membership = ConsumerMembership(config, backoff, member_id="m")

    membership.leave(0, is_leaving_group=None)

    assert membership.take_effects() == [MembershipEnded()]
    assert membership.is_ending


def test_static_member_leaves_for_good_on_request() -> None:
    membership = made(instance="i")
    sent(membership)

    membership.leave(0, is_leaving_group=True)

    assert sent(membership).member_epoch == -1


@pytest.mark.parametrize("is_error", (False, True))
def test_answer_to_a_heartbeat_does_not_end_a_membership_that_still_commits(
    *, is_error: bool
) -> None:
    membership = made()
    membership.on_topic_names({T: "t"}, 0)
    assign(membership, T)
    membership.take_effects()
    membership.on_rebalanced(0)
    membership.on_time(0)
    heartbeat = sent(membership)
    membership.leave(0, is_leaving_group=None)

    if is_error:
        membership.on_error(heartbeat, FencedMemberEpochError("fenced"), now_ms=0)
    else:
        answer = ConsumerGroupHeartbeatResponse(
            error_code=0, member_epoch=3, heartbeat_interval_ms=5_000
        )
        membership.on_response(heartbeat, answer, now_ms=0)

    assert membership.identity == ("m", 2 if is_error else 3)
    membership.take_effects()
    membership.on_rebalanced(0)
    assert sent(membership).member_epoch == -1


def test_error_of_the_leave_ends_the_membership() -> None:
    membership = made()
    sent(membership)
    membership.leave(0, is_leaving_group=None)

    membership.on_error(sent(membership), UnknownMemberIdError("gone"), now_ms=0)

    assert membership.take_effects() == [MembershipEnded()]


def test_identity_for_commits_exists_within_the_group_alone() -> None:
    membership = made()

    assert membership.identity == ("", -1)
    assign(membership)
    assert membership.identity == ("m", 2)

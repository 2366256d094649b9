"""A consumer group whose members are all classic becomes a classic group."""

import pytest

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import read_assignment
from cordwood.coordination.groups.consumer.conversion.downgrade import (
    can_downgrade,
    downgrade,
    downgrade_for,
)
from cordwood.coordination.groups.consumer.group import consumer_group_records as records
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    ConsumerGroupMember,
)
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Outcome
from cordwood.core.errors import GroupIdNotFoundError, NotCoordinatorError
from cordwood.protocol.messages.internal import TopicPartition
from tests.unit.coordination.groups.consumer.consumer_harness import ConsumerHarness
from tests.unit.coordination.groups.consumer.group.test_consumer_group_replay import replayed
from tests.unit.coordination.groups.consumer.member_samples import partitions
from tests.unit.coordination.groups.consumer.request_samples import shard_state, subscription

CLASSIC = ClassicProtocolMember(10_000, (("range", subscription(["a"])),))
STATIC = ConsumerGroupMember(member_id="m", member_epoch=5, instance_id="i")
STAYING = ConsumerGroupMember(
    member_id="c", member_epoch=5, rebalance_timeout_ms=60_000, classic=CLASSIC
)


def harness_of(
    *members: ConsumerGroupMember, settings: GroupSettings | None = None
) -> ConsumerHarness:
    harness = ConsumerHarness(settings)
    harness.topic("a", 2)
    for each in members:
        replayed(
            records.member_metadata("g", each),
            records.current_assignment("g", each),
            registry=harness.registry,
        )
    group = harness.group()
    group.group_epoch = group.assignment_epoch = 5
    group.target |= {"c": partitions("1:0"), "m": partitions("1:1")}
    return harness


def is_possible(harness: ConsumerHarness, *leaving: ConsumerGroupMember) -> bool:
    return can_downgrade(shard_state(harness), harness.group(), leaving=leaving)


def test_group_is_converted_when_the_last_consumer_member_leaves() -> None:
    assert is_possible(harness_of(STATIC, STAYING), STATIC)
    assert not is_possible(harness_of(STATIC, STAYING), STAYING)
    assert not is_possible(harness_of(STATIC), STATIC)


@pytest.mark.parametrize(
    ("settings", "expected"),
    (
        (GroupSettings(consumer_migration_policy="Downgrade"), True),
        (GroupSettings(consumer_migration_policy="upgrade"), False),
        (GroupSettings(max_size=0), False),
    ),
)
def test_settings_decide_on_the_conversion(settings: GroupSettings, *, expected: bool) -> None:
    assert is_possible(harness_of(STATIC, STAYING, settings=settings), STATIC) is expected


def leaving(harness: ConsumerHarness) -> Outcome:
    return downgrade(shard_state(harness), harness.group(), leaving=[STATIC], now_ms=7)


def converted(harness: ConsumerHarness) -> ClassicGroup:
    group = harness.registry.get("g")
    assert isinstance(group, ClassicGroup)
    return group


def test_group_epoch_and_targets_become_generation_and_assignments() -> None:
    harness = harness_of(STATIC, STAYING)

    outcome = leaving(harness)

    assert [each.type for each in outcome.records] == [8, 8, 7, 7, 6, 5, 5, 4, 3, 2]
    harness.run(outcome)
    group = converted(harness)
    assert (group.generation, group.protocol_name, [*group.members]) == (5, "range", ["c"])
    assert group.state is ClassicGroupState.PREPARING_REBALANCE
    assert read_assignment(group.members["c"].assignment).assigned_partitions == [
        TopicPartition(topic="a", partitions=[0])
    ]


def test_loaded_group_is_stable() -> None:
    harness = harness_of(STATIC, STAYING)
    harness.run(leaving(harness))

    harness.reload()

    assert converted(harness).state is ClassicGroupState.STABLE


def test_rejected_append_puts_the_consumer_group_back() -> None:
    harness = harness_of(STATIC, STAYING)
    group = harness.group()
    harness.rejection = NotCoordinatorError()

    harness.run(leaving(harness))

    assert harness.group() is group
    due = {key for key in harness.timers if key[0] == "consumer-session"}
    assert due == {("consumer-session", "g", "m"), ("consumer-session", "g", "c")}


def test_malformed_subscription_refuses_the_conversion() -> None:
    malformed = ConsumerGroupMember(
        member_id="c", classic=ClassicProtocolMember(10_000, (("range", b""),))
    )
    harness = harness_of(STATIC, malformed)

    with pytest.raises(GroupIdNotFoundError):
        leaving(harness)


@pytest.mark.parametrize("with_rebalance", (False, True))
def test_replaced_member_hands_its_target_over(*, with_rebalance: bool) -> None:
    harness = harness_of(STATIC, STAYING)
    joining = ConsumerGroupMember(member_id="n", instance_id="i", classic=CLASSIC)

    outcome = downgrade_for(
        shard_state(harness),
        harness.group(),
        replaced=STATIC,
        joining=joining,
        with_rebalance=with_rebalance,
        now_ms=7,
    )

    assert {getattr(each.key, "member_id", "c") for each in outcome.records} == {"c", "n"}
    group = converted(harness)
    assert read_assignment(group.members["n"].assignment).assigned_partitions == [
        TopicPartition(topic="a", partitions=[1])
    ]
    is_stable = group.state is ClassicGroupState.STABLE
    assert is_stable is not with_rebalance

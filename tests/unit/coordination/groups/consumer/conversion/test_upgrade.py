"""A classic group becomes a consumer group with its members as they are."""

import pytest

from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_member import (
    ClassicGroupMember,
    MemberProtocol,
)
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.coordination.groups.consumer.conversion.consumer_protocol import write_assignment
from cordwood.coordination.groups.consumer.conversion.upgrade import retire_upgraded, upgraded
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.topic_partitions import with_epoch
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Outcome
from cordwood.core.errors import GroupIdNotFoundError, NotCoordinatorError
from tests.unit.coordination.groups.consumer.consumer_harness import ConsumerHarness
from tests.unit.coordination.groups.consumer.member_samples import partitions
from tests.unit.coordination.groups.consumer.request_samples import shard_state, subscription

STABLE = ClassicGroupState.STABLE


def harness_of(settings: GroupSettings | None = None) -> ConsumerHarness:
    harness = ConsumerHarness(settings)
    harness.topic("a", 2)
    return harness


def classic_group(
    harness: ConsumerHarness,
    *,
    state: ClassicGroupState = STABLE,
    assignment: bytes | None = None,
    metadata: bytes = subscription(["a"]),
) -> ClassicGroup:
    """Return a group of generation 4 whose only member has both partitions."""
    group = ClassicGroup("g", 0, state, STABLE, 4, "consumer", "range")
    if assignment is None:
        assigned = partitions("1:0,1")
        assignment = write_assignment(assigned, harness.view, subscription=subscription([]))
    group.add(
        ClassicGroupMember(
            member_id="c",
            instance_id="i",
            client_id="id",
            client_host="/h",
            rebalance_timeout_ms=60_000,
            session_timeout_ms=10_000,
            protocols=(MemberProtocol("range", metadata),),
            assignment=assignment,
        )
    )
    harness.registry.put(group)
    return group


def convert(harness: ConsumerHarness, group: ClassicGroup) -> tuple[ConsumerGroup, Outcome]:
    outcome = Outcome()
    made = upgraded(shard_state(harness), group, outcome=outcome, now_ms=0)
    return made, outcome


def test_generation_and_assignments_become_epochs_and_targets() -> None:
    harness = harness_of()

    group, outcome = convert(harness, classic_group(harness))

    member = group.member("c")
    assert (group.group_epoch, group.assignment_epoch, member.member_epoch) == (4, 4, 4)
    assert member.assigned == with_epoch(partitions("1:0,1"), 4)
    assert (member.topic_names, member.instance_id) == (("a",), "i")
    assert [each.type for each in outcome.records] == [2, 5, 3, 7, 6, 8]
    assert [each.at_ms for each in outcome.timers] == [10_000]


def test_replayed_records_are_the_converted_group() -> None:
    harness = harness_of()

    group, outcome = convert(harness, classic_group(harness))
    harness.run(outcome)

    assert harness.group().members == group.members
    assert harness.group().target == group.target


def test_member_without_assignment_has_no_partitions() -> None:
    harness = harness_of()

    group, _ = convert(harness, classic_group(harness, assignment=b""))

    assert group.member("c").assigned == {}


@pytest.mark.parametrize(
    ("assignment", "metadata", "reason"),
    (
        (b"\0\1\0\0\0\0\0\0\0\1x", subscription(["a"]), "an unsupported custom assignor"),
        (b"\0", subscription(["a"]), "the embedded consumer protocol is malformed"),
        (b"", b"\0", "the embedded consumer protocol is malformed"),
    ),
)
def test_custom_or_malformed_data_refuses_the_conversion(
    assignment: bytes, metadata: bytes, reason: str
) -> None:
    harness = harness_of()
    group = classic_group(harness, assignment=assignment, metadata=metadata)

    with pytest.raises(GroupIdNotFoundError, match=reason):
        convert(harness, group)


@pytest.mark.parametrize(
    "settings",
    (
        GroupSettings(consumer_migration_policy="disabled"),
        GroupSettings(consumer_migration_policy="downgrade"),
        GroupSettings(consumer_max_size=0),
    ),
)
def test_settings_refuse_the_conversion(settings: GroupSettings) -> None:
    harness = harness_of(settings)

    with pytest.raises(GroupIdNotFoundError):
        convert(harness, classic_group(harness))


def test_other_protocol_types_are_not_converted() -> None:
    harness = harness_of()
    group = classic_group(harness)
    group.protocol_type = "connect"

    with pytest.raises(GroupIdNotFoundError, match="embedded protocol"):
        convert(harness, group)


@pytest.mark.parametrize(
    ("state", "timers"),
    (
        (STABLE, ["classic-session"]),
        (ClassicGroupState.PREPARING_REBALANCE, ["classic-session", "classic-join"]),
        (ClassicGroupState.COMPLETING_REBALANCE, ["classic-session", "classic-sync"]),
    ),
)
def test_rejected_append_lets_the_classic_group_go_on(
    state: ClassicGroupState, timers: list[str]
) -> None:
    harness = harness_of()
    group, outcome = classic_group(harness, state=state), Outcome()

    retire_upgraded(shard_state(harness), group, outcome=outcome, now_ms=0)
    assert group.state is ClassicGroupState.DEAD

    assert outcome.on_failure is not None
    failed = outcome.on_failure(NotCoordinatorError(), 7)
    assert group.state is state
    assert [each.key[0] for each in failed.timers] == timers

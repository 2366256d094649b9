"""The member of a request is a known, a new or a replaced one."""

from dataclasses import replace

import pytest

from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    ConsumerGroupMember,
)
from cordwood.coordination.groups.consumer.member_lookup import (
    check_epoch,
    check_size,
    joined_dynamic_member,
    joined_static_member,
    known_member,
    replace_member,
)
from cordwood.coordination.outcome import Outcome
from cordwood.core.errors import (
    FencedInstanceIdError,
    FencedMemberEpochError,
    GroupMaxSizeReachedError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
)
from tests.unit.coordination.groups.consumer.consumer_harness import ConsumerHarness
from tests.unit.coordination.groups.consumer.member_samples import member, partitions
from tests.unit.coordination.groups.consumer.request_samples import shard_state

OWNER = replace(member(assigned="1:0-2@10"), previous_member_epoch=9)
STATIC = replace(OWNER, instance_id="i")
CLASSIC = replace(STATIC, classic=ClassicProtocolMember(6_000, ()))


def group_of(found: ConsumerGroupMember) -> ConsumerGroup:
    group = ConsumerGroup("g")
    group.update_member(found)
    return group


def test_full_group_takes_its_own_members_alone() -> None:
    check_size(group_of(OWNER), "m", max_size=1)
    check_size(group_of(OWNER), "n", max_size=2)

    with pytest.raises(GroupMaxSizeReachedError):
        check_size(group_of(OWNER), "n", max_size=1)


@pytest.mark.parametrize(
    ("epoch", "owned"), ((0, None), (10, None), (9, ""), (9, "1:0,1"), (9, "1:0-2"))
)
def test_epoch_is_accepted_if_only_its_response_was_lost(epoch: int, owned: str | None) -> None:
    check_epoch(OWNER, epoch, owned=None if owned is None else partitions(owned))


@pytest.mark.parametrize(("epoch", "owned"), ((11, "1:0"), (9, None), (9, "1:3"), (8, "1:0")))
def test_other_epoch_is_fenced(epoch: int, owned: str | None) -> None:
    with pytest.raises(FencedMemberEpochError):
        check_epoch(OWNER, epoch, owned=None if owned is None else partitions(owned))


def test_known_member_is_found_by_its_ids() -> None:
    assert known_member(group_of(OWNER), "m", instance_id=None) is OWNER
    assert known_member(group_of(STATIC), "m", instance_id="i") is STATIC

    with pytest.raises(UnknownMemberIdError):
        known_member(group_of(OWNER), "n", instance_id=None)
    with pytest.raises(UnknownMemberIdError, match="Instance id j is unknown"):
        known_member(group_of(STATIC), "m", instance_id="j")
    with pytest.raises(FencedInstanceIdError):
        known_member(group_of(STATIC), "n", instance_id="i")


def test_dynamic_member_is_known_or_new() -> None:
    assert joined_dynamic_member(group_of(OWNER), "m") == (OWNER, OWNER)
    assert joined_dynamic_member(group_of(OWNER), "n") == (None, ConsumerGroupMember(member_id="n"))


def test_first_static_member_is_new() -> None:
    found = joined_static_member(group_of(OWNER), "n", instance_id="i", is_classic=False)

    assert found.in_group is None


@pytest.mark.parametrize(
    ("existing", "is_classic"), ((STATIC.departed(), False), (CLASSIC, False), (STATIC, True))
)
def test_static_member_takes_the_place_of_the_last_one(
    existing: ConsumerGroupMember, *, is_classic: bool
) -> None:
    found = joined_static_member(group_of(existing), "n", instance_id="i", is_classic=is_classic)

    assert found == (existing, existing.replaced_by("n"))


def test_live_static_member_is_not_replaced() -> None:
    with pytest.raises(UnreleasedInstanceIdError):
        joined_static_member(group_of(STATIC), "n", instance_id="i", is_classic=False)


def test_replacement_writes_the_new_member_with_the_target_of_the_old() -> None:
    harness, group = ConsumerHarness(), group_of(STATIC.departed())
    group.target["m"] = partitions("1:0")
    joined = joined_static_member(group, "n", instance_id="i", is_classic=False)
    outcome = Outcome()

    replace_member(shard_state(harness), group, joined=joined, outcome=outcome)

    assert [each.type for each in outcome.records] == [8, 7, 5, 5, 7, 8]
    assert len(outcome.timers) == 4


def test_member_that_is_not_replaced_writes_no_record() -> None:
    group, outcome = group_of(OWNER), Outcome()

    for member_id in ("m", "n"):
        joined = joined_dynamic_member(group, member_id)
        replace_member(shard_state(ConsumerHarness()), group, joined=joined, outcome=outcome)

    assert outcome == Outcome()

"""A group sums up its members."""

from dataclasses import replace

import pytest

from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
    ConsumerGroupMember,
    MemberState,
)
from cordwood.coordination.groups.consumer.group.subscriptions import ResolvedRegularExpression
from cordwood.coordination.groups.group import Group, GroupType, OffsetCommitter
from cordwood.core.errors import NonEmptyGroupError, StaleMemberEpochError, UnknownMemberIdError
from tests.unit.coordination.groups.consumer.member_samples import member, partitions

OWNER = member(assigned="1:0@10")
CLASSIC = replace(
    OWNER, member_id="c", classic=ClassicProtocolMember(6_000, (("range", b""), ("sticky", b"")))
)


def group_of(*members: ConsumerGroupMember) -> ConsumerGroup:
    group = ConsumerGroup("g")
    group.group_epoch = group.assignment_epoch = 10
    for each in members:
        group.update_member(each)
    return group


def test_new_group_is_empty_and_has_epoch_1() -> None:
    group: Group = ConsumerGroup("g")

    assert group.is_empty
    assert (group.group_type, group.protocol_type) == (GroupType.CONSUMER, "consumer")
    assert group.state_name == "Empty"


def test_state_follows_epochs_and_members() -> None:
    group = group_of(OWNER)
    assert group.state_name == "Stable"

    group.update_member(replace(OWNER, state=MemberState.UNRELEASED_PARTITIONS))
    assert group.state_name == "Reconciling"

    group.group_epoch = 11
    assert group.state_name == "Assigning"


def test_topics_are_stale_until_the_epoch_of_their_comparison_is_reached() -> None:
    group, found = group_of(), list[bool]()

    for epoch in (None, 10, 11):
        group.checked_epoch = epoch
        found.append(group.has_stale_topics)

    assert found == [True, False, True]


def test_member_is_found_by_its_instance_id() -> None:
    static = replace(OWNER, instance_id="i")
    group = group_of(static)

    assert group.static_member("i") is static
    assert group.static_member(None) is None
    with pytest.raises(UnknownMemberIdError):
        group.member("other")


def test_removed_member_leaves_the_instance_id_to_its_successor() -> None:
    group = group_of(replace(OWNER, instance_id="i"))
    successor = replace(OWNER, member_id="n", instance_id="i")

    group.update_member(successor)
    group.remove_member("m")
    assert group.static_member("i") is successor

    group.remove_member("n")
    group.remove_member("n")
    assert group.static_member("i") is None


def test_static_member_has_the_target_of_its_instance_id() -> None:
    group = group_of(replace(OWNER, instance_id="i"))
    group.target["m"] = partitions("1:0")

    assert group.target_of(replace(OWNER, member_id="n", instance_id="i")) == partitions("1:0")
    assert group.target_of(replace(OWNER, member_id="n", instance_id="j")) == {}
    assert group.target_of(OWNER) == partitions("1:0")


def test_assignor_with_most_votes_is_preferred() -> None:
    voter = replace(OWNER, server_assignor="range")
    group = group_of(voter, replace(OWNER, member_id="n"))
    assert group.preferred_assignor() == "range"

    assert group.preferred_assignor((voter,), (replace(voter, server_assignor="uniform"),)) == (
        "uniform"
    )

    group.update_member(OWNER)
    assert group.preferred_assignor() is None


def test_assignor_of_the_last_vote_wins_a_tie_if_it_is_a_new_one() -> None:
    range_, uniform = (replace(OWNER, server_assignor=each) for each in ("range", "uniform"))
    joining = replace(uniform, member_id="n")

    assert group_of(range_).preferred_assignor((), (joining,)) == "uniform"
    assert group_of(uniform).preferred_assignor((), (replace(range_, member_id="n"),)) == "range"
    assert group_of(range_, joining).preferred_assignor() == "uniform"
    assert group_of(range_, joining).preferred_assignor((range_,), (range_,)) == "range"


def test_classic_protocol_has_to_be_supported_by_all_classic_members() -> None:
    group = group_of(OWNER, CLASSIC, replace(CLASSIC, member_id="d"))

    assert group.supports_classic_protocols("consumer", ["other", "range"])
    assert not group.supports_classic_protocols("consumer", ["other"])
    assert not group.supports_classic_protocols("connect", ["range"])
    assert group_of().supports_classic_protocols("consumer", ["any"])
    assert not group_of().supports_classic_protocols("consumer", [])


def test_group_is_classic_without_its_consumer_members() -> None:
    group = group_of(OWNER, CLASSIC)

    assert group.classic_members == 1
    assert group.is_classic_without([OWNER])
    assert not group.is_classic_without([])
    assert not group.is_classic_without([CLASSIC])


def test_member_waits_for_partitions_that_others_hold() -> None:
    group = group_of(OWNER, CLASSIC)
    waiting = replace(OWNER, member_id="n", assigned={})
    group.target["n"] = partitions("1:0")
    assert group.waits_for_others(waiting)

    group.target["n"] = partitions("1:1")
    assert not group.waits_for_others(waiting)


def test_commit_without_a_member_needs_an_empty_group() -> None:
    simple = OffsetCommitter("", None, -1, is_transactional=False, api_version=9)

    assert group_of().validate_offset_commit(simple) is None
    with pytest.raises(UnknownMemberIdError):
        group_of(OWNER).validate_offset_commit(simple)


def test_fetch_is_checked_when_it_names_a_member() -> None:
    group = group_of(OWNER)

    group.validate_offset_fetch(None, -1)
    group.validate_offset_fetch("m", 10)
    with pytest.raises(StaleMemberEpochError):
        group.validate_offset_fetch("m", 9)
    with pytest.raises(UnknownMemberIdError):
        group.validate_offset_fetch(None, 1)


def test_group_with_members_is_not_deleted() -> None:
    group_of().validate_delete()
    group_of(OWNER).validate_offset_delete()

    with pytest.raises(NonEmptyGroupError):
        group_of(OWNER).validate_delete()


def test_offsets_expire_from_their_commit_unless_they_are_subscribed() -> None:
    group = group_of(replace(OWNER, topic_names=("a",)))

    assert group.is_subscribed("a")
    assert not group.is_subscribed("b")
    assert group.expiry_base_ms(7) == 7


def test_tombstones_delete_members_and_expressions() -> None:
    group = group_of(OWNER)
    group.resolve_regex("x", ResolvedRegularExpression(frozenset({"a"}), 1, 1))
    assert [each.type for each in group.tombstones()] == [8, 7, 6, 5, 16, 4, 3]

    group.unresolve_regex("x")
    assert [each.type for each in group.tombstones()] == [8, 7, 6, 5, 4, 3]


def test_members_with_equal_names_share_them_until_the_last_one_leaves() -> None:
    group = ConsumerGroup("g")
    for name in ("A", "B"):
        names = tuple(f"t-{number}" for number in range(3))
        group.update_member(ConsumerGroupMember(member_id=name, topic_names=names))
    first, second = group.member("A").topic_names, group.member("B").topic_names

    group.update_member(replace(group.member("A"), topic_names=("other",)))
    group.remove_member("B")
    group.update_member(ConsumerGroupMember(member_id="C", topic_names=(*first,)))

    assert first is second
    assert group.member("C").topic_names == first
    assert group.member("A").topic_names == ("other",)

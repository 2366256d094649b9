"""The target of a group has records for the members that it changes."""

from dataclasses import replace

import pytest

from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_member import ConsumerGroupMember
from cordwood.coordination.groups.consumer.target_assignment import (
    ASSIGNORS,
    MemberChange,
    assign_targets,
    target_records,
)
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.errors import UnknownServerError
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id
from tests.unit.coordination.groups.consumer.member_samples import partitions

VIEW = Topics([TopicFacts("a", topic_id(1), 4)])
A = ConsumerGroupMember(member_id="A", topic_names=("a", "missing"))
B = replace(A, member_id="B")


def group_of(*members: ConsumerGroupMember, **targets: str) -> ConsumerGroup:
    group = ConsumerGroup("g")
    for each in members:
        group.update_member(each)
    group.target.update({name: partitions(text) for name, text in targets.items()})
    return group


def test_targets_are_for_the_members_after_the_change() -> None:
    group = group_of(A, A="1:0-3")

    found = assign_targets(
        group,
        MemberChange.of(group, before=None, after=B),
        epoch=2,
        view=VIEW,
        assignor="uniform",
    )

    assert found == {"A": partitions("1:0,1"), "B": partitions("1:2,3")}


def test_static_member_inherits_the_target_of_its_predecessor() -> None:
    static = replace(A, instance_id="i")
    group = group_of(B, static, A="1:2,3", B="1:0,1")

    change = MemberChange.of(group, before=static, after=replace(static, member_id="C"))
    found = assign_targets(group, change, epoch=2, view=VIEW, assignor="uniform")

    assert found == {"B": partitions("1:0,1"), "C": partitions("1:2,3")}


def test_member_keeps_its_id_when_it_changes() -> None:
    group = group_of(A, B, A="1:0,1", B="1:2,3")

    change = MemberChange.of(group, before=B, after=replace(B, topic_names=()))
    found = assign_targets(group, change, epoch=2, view=VIEW, assignor="range")

    assert found == {"A": partitions("1:0-3"), "B": {}}


def test_failed_assignment_is_an_error_of_the_server() -> None:
    # Both members have one partition as their target, and one partition is left.
    group = group_of(A, B, A="1:0-3", B="1:0-3")

    with pytest.raises(UnknownServerError, match="for epoch 2: Partitions were left unassigned"):
        assign_targets(
            group,
            MemberChange.of(group, before=A, after=A),
            epoch=2,
            view=Topics([TopicFacts("a", topic_id(1), 9)]),
            assignor="uniform",
        )


def test_changed_targets_have_records_before_that_of_the_epoch() -> None:
    group = group_of(A, B, A="1:0,1", B="1:2,3")
    targets = {"A": partitions("1:0,1"), "B": partitions("1:2")}

    found = target_records(group, ["A", "B", "C"], targets=targets, epoch=2, now_ms=5)

    assert [each.type for each in found] == [7, 7, 6]
    assert [getattr(each.key, "member_id", None) for each in found] == ["B", "C", None]


def test_assignors_have_the_names_of_the_settings() -> None:
    assert [*ASSIGNORS] == ["uniform", "range"]

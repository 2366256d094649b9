"""A group is described with the present and the target partitions of its members."""

from collections.abc import Iterator
from dataclasses import replace

from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.group.consumer_group_description import (
    described,
    not_described,
)
from cordwood.coordination.groups.consumer.group.consumer_group_member import (
    ClassicProtocolMember,
)
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.errors import GroupIdNotFoundError
from cordwood.protocol.messages.consumer_group_describe import Assignment, Member, TopicPartitions
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id
from tests.unit.coordination.groups.consumer.member_samples import member, partitions

VIEW = Topics([TopicFacts("a", topic_id(1), 4)])


def assignment(*numbers: int) -> Assignment:
    topic = TopicPartitions(topic_id=topic_id(1), topic_name="a", partitions=list(numbers))
    return Assignment(topic_partitions=[topic])


def test_description_has_revoked_partitions_and_no_deleted_topics() -> None:
    group = ConsumerGroup("g")
    group.group_epoch = 2
    group.update_member(member(assigned="1:1@10 2:0@10", pending="1:0@10"))
    group.target["m"] = partitions("1:2 2:1")

    found = described(group, VIEW, default_assignor="uniform")

    assert (found.group_state, found.group_epoch, found.assignment_epoch) == ("Assigning", 2, 1)
    assert found.assignor_name == "uniform"
    assert found.members[0].assignment == assignment(0, 1)
    assert found.members[0].target_assignment == assignment(2)
    assert found.members[0].member_type == 1


def test_description_names_the_preferred_assignor_and_classic_members() -> None:
    group = ConsumerGroup("g")
    classic = ClassicProtocolMember(6_000, ())
    group.update_member(replace(member(assigned=""), server_assignor="range", classic=classic))

    found = described(group, VIEW, default_assignor="uniform")

    assert found.assignor_name == "range"
    assert found.members[0].member_type == 0
    assert found.members[0].target_assignment == Assignment(topic_partitions=[])


def test_missing_group_has_an_error_and_no_state() -> None:
    found = not_described("g", GroupIdNotFoundError("Group g not found."))

    assert (found.error_code, found.error_message) == (69, "Group g not found.")
    assert (found.group_state, found.group_epoch, found.members) == ("", 0, [])


def test_members_that_are_described_later_are_those_of_the_event() -> None:
    """3,000 members took 60 ms in one event."""
    group, later = ConsumerGroup("g"), list[Iterator[Member]]()
    group.update_member(member(assigned="1:1@10"))
    group.target["m"] = partitions("1:1")

    found = described(group, VIEW, default_assignor="uniform", later=later)
    group.target["m"] = partitions("1:2")
    group.remove_member("m")

    assert found.members == []
    (members,) = later
    assert [each.target_assignment for each in members] == [assignment(1)]

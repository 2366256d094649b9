"""Responses about groups as values."""

import pytest

from cordwood.client.admin.group_responses import (
    classic_group_of,
    committed_of,
    consumer_group_of,
    delete_topics,
    fetch_topics,
)
from cordwood.client.group.offset_messages import commit_topics
from cordwood.client.group_offset import GroupOffset
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import GroupIdNotFoundError, UnstableOffsetCommitError
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.codec import encode, joined
from cordwood.protocol.messages import consumer_group_describe, describe_groups
from cordwood.protocol.messages.internal import ConsumerProtocolAssignment, TopicPartition
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

ASSIGNED = b"\0\1" + joined(
    encode(
        ConsumerProtocolAssignment(assigned_partitions=[TopicPartition(topic="t", partitions=[1])]),
        1,
    )
)


def classic(
    assignment: bytes = ASSIGNED, *, protocol_type: str = "consumer", state: str = "Stable"
) -> describe_groups.DescribedGroup:
    return describe_groups.DescribedGroup(
        error_code=0,
        group_id="g",
        group_state=state,
        protocol_type=protocol_type,
        protocol_data="range",
        members=[
            describe_groups.DescribedGroupMember(
                member_id="m",
                client_id="c",
                client_host="/h",
                member_metadata=b"",
                member_assignment=assignment,
            )
        ],
    )


def test_classic_group_has_the_partitions_of_its_members() -> None:
    found = classic_group_of(classic(), 3)

    assert (found.type, found.assignor, found.coordinator) == ("classic", "range", 3)
    assert found.members[0].assignment == (("t", 1),)


@pytest.mark.parametrize("assignment", (b"", b"\0\1\0\0\0\5"))
def test_assignment_that_cannot_be_read_is_empty(assignment: bytes) -> None:
    assert classic_group_of(classic(assignment), 3).members[0].assignment == ()


def test_assignment_of_another_protocol_is_not_read() -> None:
    assert classic_group_of(classic(protocol_type="connect"), 3).members[0].assignment == ()


def test_dead_group_is_not_found() -> None:
    with pytest.raises(GroupIdNotFoundError, match="group 'g'"):
        classic_group_of(classic(state="Dead"), 3)


def test_consumer_group_has_assignments_and_targets() -> None:
    topics = [
        consumer_group_describe.TopicPartitions(topic_id=NO_UUID, topic_name="t", partitions=[0, 1])
    ]
    member = consumer_group_describe.Member(
        member_id="m",
        member_epoch=4,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=["t"],
        assignment=consumer_group_describe.Assignment(topic_partitions=[]),
        target_assignment=consumer_group_describe.Assignment(topic_partitions=topics),
    )
    group = consumer_group_describe.DescribedGroup(
        error_code=0,
        group_id="g",
        group_state="Reconciling",
        group_epoch=5,
        assignment_epoch=4,
        assignor_name="uniform",
        members=[member],
    )

    found = consumer_group_of(group, 1)

    assert (found.type, found.group_epoch, found.assignment_epoch) == ("consumer", 5, 4)
    assert found.members[0].assignment == ()
    assert found.members[0].target_assignment == (("t", 0), ("t", 1))
    assert found.members[0].is_upgraded is None


@pytest.mark.parametrize(("member_type", "is_upgraded"), ((-1, None), (0, False), (1, True)))
def test_member_of_a_consumer_group_has_its_protocol(
    *, member_type: int, is_upgraded: bool | None
) -> None:
    empty = consumer_group_describe.Assignment(topic_partitions=[])
    member = consumer_group_describe.Member(
        member_id="m",
        member_epoch=4,
        subscribed_topic_names=[],
        client_id="c",
        client_host="/h",
        assignment=empty,
        target_assignment=empty,
        member_type=member_type,
    )
    group = consumer_group_describe.DescribedGroup(
        error_code=0,
        group_id="g",
        group_state="Stable",
        group_epoch=4,
        assignment_epoch=4,
        assignor_name="range",
        members=[member],
    )

    assert consumer_group_of(group, 1).members[0].is_upgraded is is_upgraded


def fetched(*partitions: OffsetFetchResponsePartition) -> list[OffsetFetchResponseTopic]:
    return [OffsetFetchResponseTopic(name="t", partitions=list(partitions))]


def offset(index: int, committed: int, code: int = 0) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=index, committed_offset=committed, metadata=None, error_code=code
    )


def test_partition_without_an_offset_is_absent() -> None:
    topics = fetched(offset(0, 7), offset(1, -1))
    new = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id="g", topics=topics)])
    old = OffsetFetchResponse(topics=topics)

    assert committed_of(new, "g") == committed_of(old, "g") == {("t", 0): GroupOffset(7)}


def test_offset_of_an_open_transaction_is_an_error() -> None:
    with pytest.raises(UnstableOffsetCommitError, match="group 'g', t-0"):
        committed_of(OffsetFetchResponse(topics=fetched(offset(0, -1, 88))), "g")


def test_requests_group_partitions_by_topic() -> None:
    partitions = partitions_of([("t", 0), ("u", 1), ("t", 2)])

    assert [each.partition_indexes for each in fetch_topics(partitions)] == [[0, 2], [1]]
    assert [len(each.partitions) for each in delete_topics(partitions)] == [2, 1]
    (topic,) = commit_topics({partitions[1]: GroupOffset(5, "m", 2)})
    assert (topic.name, topic.partitions[0].committed_metadata) == ("u", "m")

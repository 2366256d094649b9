"""Requests and responses of committed offsets."""

import pytest

from cordwood.client.group.membership import MemberIdentity
from cordwood.client.group.offset_messages import (
    commit_errors,
    commit_request,
    fetch_request,
    fetched_offsets,
    offset_topics,
)
from cordwood.client.group_offset import GroupOffset
from cordwood.client.network.cluster import Cluster, TopicInfo
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from cordwood.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from cordwood.protocol.messages.txn_offset_commit import TxnOffsetCommitRequestPartition

ID = Uuid(b"t" * 16)
CLUSTER = Cluster(topics={"t": TopicInfo("t", ID, {})})
(T0,) = partitions_of([("t", 0)])
MEMBER = MemberIdentity("m", 3)


def test_commit_has_member_name_and_id_of_the_topic() -> None:
    request = commit_request(
        "g",
        {T0: GroupOffset(7, "note", 2)},
        identity=MEMBER,
        instance_id="i",
        cluster=CLUSTER,
    )

    (topic,) = request.topics
    (place,) = topic.partitions
    assert (request.generation_id_or_member_epoch, request.member_id) == (3, "m")
    assert (topic.name, topic.topic_id) == ("t", ID)
    assert (place.committed_offset, place.committed_leader_epoch) == (7, 2)


def test_offsets_are_grouped_by_topic_in_the_classes_of_a_request() -> None:
    partitions = partitions_of([("t", 0), ("u", 1), ("t", 2)])
    offsets = {each: GroupOffset(each.partition + 10, "m", 4) for each in partitions}

    topics = offset_topics(
        offsets, topic_of=lambda *topic: topic, partition_of=TxnOffsetCommitRequestPartition
    )

    assert [(name, [each.committed_offset for each in found]) for name, found in topics] == [
        ("t", [10, 12]),
        ("u", [11]),
    ]
    assert {
        (each.committed_metadata, each.committed_leader_epoch)
        for _, found in topics
        for each in found
    } == {("m", 4)}


@pytest.mark.parametrize("named", ({"name": "t"}, {"topic_id": ID}))
def test_commit_error_is_found_by_name_or_id(named: dict[str, object]) -> None:
    result = OffsetCommitResponsePartition(partition_index=0, error_code=28)
    topic = OffsetCommitResponseTopic(partitions=[result], **named)  # type: ignore[arg-type]  # by name

    assert commit_errors(OffsetCommitResponse(topics=[topic]), CLUSTER) == [(T0, 28)]


@pytest.mark.parametrize(("version", "stable"), ((6, False), (7, True)))
def test_fetch_of_old_versions_has_one_group(version: int, stable: bool) -> None:  # noqa: FBT001 - a column of the table
    request = fetch_request(
        "g", [T0], version=version, identity=MEMBER, requires_stable=True, cluster=CLUSTER
    )

    assert (request.group_id, request.groups, request.require_stable) == ("g", [], stable)


def test_fetch_of_new_versions_has_the_member() -> None:
    request = fetch_request(
        "g", [T0], version=10, identity=MEMBER, requires_stable=False, cluster=CLUSTER
    )

    (group,) = request.groups
    assert (request.group_id, group.member_id, group.member_epoch) == ("", "m", 3)


@pytest.mark.parametrize(("offset", "wanted"), ((-1, None), (5, GroupOffset(5, "", 4))))
def test_missing_offset_is_none(offset: int, wanted: GroupOffset | None) -> None:
    result = OffsetFetchResponsePartition(
        partition_index=0,
        committed_offset=offset,
        committed_leader_epoch=4,
        metadata=None,
        error_code=0,
    )
    topic = OffsetFetchResponseTopic(topic_id=ID, partitions=[result])
    group = OffsetFetchResponseGroup(group_id="g", topics=[topic])

    assert fetched_offsets(OffsetFetchResponse(groups=[group]), CLUSTER) == (0, [(T0, 0, wanted)])
    named = OffsetFetchResponseTopic(name="t", partitions=[result])
    old = OffsetFetchResponse(topics=[named], error_code=16)
    assert fetched_offsets(old, CLUSTER) == (16, [(T0, 0, wanted)])

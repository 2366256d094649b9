"""Blobs of classic members are read and written in their versions."""

import pytest

from cordwood.coordination.groups.consumer.conversion.consumer_protocol import (
    partitions_by_id,
    read_assignment,
    read_subscription,
    write_assignment,
)
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.errors import BytesError
from cordwood.protocol.messages.internal import TopicPartition
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id
from tests.unit.coordination.groups.consumer.member_samples import partitions
from tests.unit.coordination.groups.consumer.request_samples import subscription

VIEW = Topics([TopicFacts("a", topic_id(1), 4), TopicFacts("b", topic_id(2), 4)])


def test_subscription_is_read() -> None:
    assert read_subscription(subscription(["a", "b"])).topics == ["a", "b"]


def test_later_version_is_read_as_the_newest_one() -> None:
    blob = b"\0\x63" + subscription(["a"])[2:] + b"\xff\xff\xff\xff" + b"\xff\xff" + b"later"

    assert read_subscription(blob).topics == ["a"]


@pytest.mark.parametrize("blob", (b"", b"\0", b"\xff\xff\0\0\0\0", b"\0\0\0\0\0\1"))
def test_malformed_blob_is_rejected(blob: bytes) -> None:
    with pytest.raises(BytesError):
        read_subscription(blob)


def test_assignment_has_the_version_of_the_subscription_and_no_deleted_topics() -> None:
    blob = write_assignment(partitions("2:1,0 1:2 3:0"), VIEW, subscription=subscription([]))

    assert blob[:2] == b"\0\1"
    assert read_assignment(blob).assigned_partitions == [
        TopicPartition(topic="a", partitions=[2]),
        TopicPartition(topic="b", partitions=[0, 1]),
    ]


def test_partitions_by_id_have_no_missing_topics() -> None:
    topics = [
        TopicPartition(topic="a", partitions=[1, 2]),
        TopicPartition(topic="b", partitions=[]),
        TopicPartition(topic="missing", partitions=[0]),
    ]

    assert partitions_by_id(topics, VIEW) == partitions("1:1,2")

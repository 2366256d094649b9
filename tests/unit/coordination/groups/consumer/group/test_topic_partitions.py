"""Partitions come from requests and records, and go into responses and records."""

import pytest

from cordwood.coordination.groups.consumer.group import topic_partitions
from cordwood.protocol.messages.consumer_group_heartbeat import TopicPartitions
from cordwood.protocol.messages.internal import OwnedPartitions
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import topic_id
from tests.unit.coordination.groups.consumer.member_samples import epochs, partitions


def reported(*topics: tuple[int, list[int]]) -> topic_partitions.ReportedPartitions:
    return topic_partitions.ReportedPartitions(
        [TopicPartitions(topic_id=topic_id(number), partitions=each) for number, each in topics]
    )


def test_reported_topic_may_come_twice() -> None:
    assigned = epochs("1:0,1@1 2:0@1")

    assert topic_partitions.contains_all(assigned, reported((1, [1]), (2, [0]), (1, [0])))
    assert not topic_partitions.contains_all(assigned, reported((1, [1]), (1, [2])))
    assert topic_partitions.contains_any(assigned, reported((1, [2]), (1, [1])))
    assert not topic_partitions.contains_any(assigned, reported((1, [2]), (3, [0])))


def test_reported_partitions_are_empty_without_topics() -> None:
    assert not reported()
    assert reported((1, []))


def test_each_reported_partition_is_looked_at_once() -> None:
    """A topic that came 24,500 times took 2 s, since its partitions were joined each time."""
    looked_at: list[int] = []

    class Counted(int):
        def __hash__(self) -> int:
            looked_at.append(int(self))
            return int(self)

    numbers: list[list[int]] = [[Counted(number)] for number in range(100)]
    owned = reported(*((1, each) for each in numbers))

    assert topic_partitions.contains_all(epochs("1:0-99@1"), owned)
    assert len(looked_at) <= 2 * 100


def test_response_has_sorted_topics_and_partitions() -> None:
    response = topic_partitions.to_response(epochs("2:1@1 1:1@1 1:0@2"))

    assert response.topic_partitions == [
        TopicPartitions(topic_id=topic_id(1), partitions=[0, 1]),
        TopicPartitions(topic_id=topic_id(2), partitions=[1]),
    ]


def test_target_record_is_read_as_it_was_written() -> None:
    target = partitions("1:0-2 2:1")

    record = topic_partitions.to_target_record(target)

    assert topic_partitions.from_target_record(record) == target


def test_owned_record_is_read_as_it_was_written() -> None:
    owned = epochs("1:0@4 1:1@3 2:1@5")

    record = topic_partitions.to_owned_record(owned)

    assert topic_partitions.from_owned_record(record, member_epoch=9) == owned


@pytest.mark.parametrize(("member_epoch", "expected"), ((9, "1:0,1@9"), (-2, "1:0,1@0")))
def test_owned_record_without_epochs_has_that_of_the_member(
    member_epoch: int, expected: str
) -> None:
    record = [OwnedPartitions(topic_id=topic_id(1), partitions=[0, 1], assignment_epochs=[3])]

    found = topic_partitions.from_owned_record(record, member_epoch=member_epoch)

    assert found == epochs(expected)


def test_epochs_are_added_and_removed() -> None:
    assert topic_partitions.with_epoch(partitions("1:0,1"), 3) == epochs("1:0,1@3")
    assert topic_partitions.without_epochs(epochs("1:0,1@3")) == partitions("1:0,1")


def test_unknown_ownership_may_contain_any_partition_but_not_only_these() -> None:
    assert topic_partitions.contains_any({}, None)
    assert not topic_partitions.contains_all({}, None)


def test_ownership_is_compared_by_partition() -> None:
    assigned = epochs("1:0,1@3")

    assert topic_partitions.contains_any(assigned, partitions("1:1,2"))
    assert not topic_partitions.contains_any(assigned, partitions("1:2 2:0"))
    assert topic_partitions.contains_all(assigned, partitions("1:1"))
    assert not topic_partitions.contains_all(assigned, partitions("1:1,2"))
    assert topic_partitions.contains_all(assigned, {})


def test_owned_record_without_partitions_has_no_topic() -> None:
    record = [OwnedPartitions(topic_id=topic_id(1), partitions=[], assignment_epochs=[])]

    assert topic_partitions.from_owned_record(record, member_epoch=9) == {}

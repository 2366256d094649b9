"""Offsets of deleted topics are deleted, also those of open transactions."""

import pytest

from cordwood.coordination.coordinator_record import CoordinatorRecord
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.group_partition_map import GroupPartition, GroupPartitionMap
from cordwood.coordination.offsets.topic_deletion import offsets_of_topics
from cordwood.coordination.outcome import TimerChange
from cordwood.coordination.topic_view import TopicFacts, Topics
from cordwood.core.errors import NotEnoughReplicasError
from tests.unit.coordination.offset_samples import (
    ORDERS,
    PAYMENTS,
    UNKNOWN_ID,
    OffsetsUnderTest,
    commit_request,
    commit_value,
    txn_request,
)


def deleted(offsets: OffsetsUnderTest, *remaining: TopicFacts) -> list[CoordinatorRecord]:
    """Return the records when these topics remain."""
    return offsets.apply(offsets.manager.on_topics(Topics(remaining), 0)).records


def test_offsets_of_a_deleted_topic_go_in_all_groups() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5), ("payments", 0, 6)))
    offsets.commit(commit_request(("orders", 1, 5), group_id="other"))

    records = deleted(offsets, PAYMENTS)

    assert [each.value for each in records] == [None, None]
    assert offsets.fetch() == {("payments", 0): (6, 0)}


def test_pending_offsets_of_a_deleted_topic_go() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit_transactional(txn_request(("orders", 0, 5)))

    assert len(deleted(offsets, PAYMENTS)) == 1

    offsets.end(7, is_commit=True)
    assert offsets.fetch() == {}


def test_topic_that_is_created_again_is_another_one() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5)))

    assert len(deleted(offsets, PAYMENTS, TopicFacts("orders", UNKNOWN_ID, 4))) == 1


def test_offset_of_the_topic_created_later_stays() -> None:
    offsets = GroupPartitionMap[CommittedOffset]()
    at = GroupPartition("g", "orders", 0)
    offsets.put(at, CommittedOffset.of(commit_value(5), 0))
    again = TopicFacts("orders", UNKNOWN_ID, 4)

    assert list(offsets_of_topics([offsets], [ORDERS])) == [at]
    assert not list(offsets_of_topics([offsets], [again]))


@pytest.mark.parametrize("topics", ((ORDERS, PAYMENTS), (ORDERS, PAYMENTS._replace(partitions=9))))
def test_change_without_a_deletion_writes_nothing(topics: tuple[TopicFacts, ...]) -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5), ("payments", 0, 6)))

    assert not deleted(offsets, *topics)


def test_rejected_deletion_is_repeated() -> None:
    offsets = OffsetsUnderTest()
    offsets.commit(commit_request(("orders", 0, 5)))
    outcome = offsets.manager.on_topics(Topics((PAYMENTS,)), 0)
    assert outcome.on_failure is not None

    (timer,) = outcome.on_failure(NotEnoughReplicasError(), 10).timers

    assert timer == TimerChange(("offsets", "deleted-topics"), 1_010)
    assert len(offsets.manager.on_timer(timer.key, 1_010).records) == 1

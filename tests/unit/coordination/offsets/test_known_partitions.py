"""Partitions of a request that do not exist have errors of their own."""

from cordwood.coordination.offsets.known_partitions import known_by_id, known_by_name
from cordwood.coordination.offsets.partition_results import (
    PartitionResult,
    PartitionResults,
    TopicResult,
)
from cordwood.coordination.topic_view import Topics
from cordwood.core.uuids import NO_UUID
from cordwood.protocol.messages.offset_commit import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.unit.coordination.offset_samples import ORDERS, ORDERS_ID, UNKNOWN_ID

VIEW = Topics((ORDERS,))


def topic(
    *partitions: int, name: str = "orders", number: bytes = ORDERS_ID
) -> OffsetCommitRequestTopic:
    return OffsetCommitRequestTopic(
        name=name,
        topic_id=ORDERS_ID if number == ORDERS_ID else UNKNOWN_ID,
        partitions=[
            OffsetCommitRequestPartition(
                partition_index=each, committed_offset=1, committed_metadata=None
            )
            for each in partitions
        ],
    )


def failed(code: int, *partitions: int) -> list[PartitionResult]:
    return [PartitionResult(each, code) for each in partitions]


def test_topic_by_name_gets_its_id() -> None:
    (known,) = known_by_name([topic(0, 3)], VIEW, results=PartitionResults())

    assert (known.name, known.topic_id, known.numbers) == ("orders", ORDERS_ID, [0, 3])


def test_topic_by_id_gets_its_name() -> None:
    (known,) = known_by_id([topic(0, name="")], VIEW, results=PartitionResults())

    assert (known.name, known.topic_id, known.numbers) == ("orders", ORDERS_ID, [0])


def test_unknown_name_is_an_unknown_topic_or_partition() -> None:
    results = PartitionResults()

    assert not known_by_name([topic(0, 1, name="missing")], VIEW, results=results)

    assert results.followed_by([]) == [TopicResult("missing", NO_UUID, failed(3, 0, 1))]


def test_unknown_id_is_an_unknown_topic_id() -> None:
    results = PartitionResults()

    assert not known_by_id([topic(0, name="", number=UNKNOWN_ID)], VIEW, results=results)

    assert results.followed_by([]) == [TopicResult("", UNKNOWN_ID, failed(100, 0))]


def test_unknown_partitions_are_rejected_alone() -> None:
    results = PartitionResults()

    (known,) = known_by_name([topic(-1, 0, 4)], VIEW, results=results)

    assert known.numbers == [0]
    assert results.followed_by([]) == [TopicResult("orders", ORDERS_ID, failed(3, -1, 4))]


def test_topic_without_existing_partitions_is_not_known() -> None:
    assert not known_by_name([topic(4), topic()], VIEW, results=PartitionResults())

"""Results of partitions: those rejected first, the others after them."""

from cordwood.coordination.offsets.partition_results import (
    PartitionResult,
    PartitionResults,
    TopicResult,
)
from cordwood.core.uuids import NO_UUID


def topic(name: str, *partitions: int) -> TopicResult:
    return TopicResult(name, NO_UUID, [PartitionResult(each, 0) for each in partitions])


def test_results_without_errors_are_the_given_ones() -> None:
    given = [topic("a", 0), topic("a", 1)]

    assert PartitionResults().followed_by(given) == given


def test_rejected_partitions_come_first() -> None:
    results = PartitionResults()
    results.reject("b", [5], error_code=3)

    merged = results.followed_by([topic("a", 0), topic("b", 1)])

    assert [each.name for each in merged] == ["b", "a"]
    assert merged[0].partitions == [PartitionResult(5, 3), PartitionResult(1, 0)]

"""A failed log is retried after a growing backoff; a success clears it."""

from cordwood.compaction.cleaning_failures import LONGEST_MS, CleaningFailures
from cordwood.core.types import PartitionId, TopicName, TopicPartition

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
OTHER = TopicPartition(TopicName("orders"), PartitionId(1))


def noted(failures: CleaningFailures, count: int, *, backoff_ms: int = 15_000) -> list[int]:
    """Record `count` failures, and return the backoff of each."""
    return [
        failures.record(ORDERS, "no", now_ms=0, backoff_ms=backoff_ms).backoff_ms
        for _ in range(count)
    ]


def test_wait_doubles_with_each_failure() -> None:
    assert noted(CleaningFailures(), 4) == [15_000, 30_000, 60_000, 120_000]


def test_wait_does_not_grow_beyond_an_hour_unless_the_backoff_is_longer() -> None:
    assert noted(CleaningFailures(), 100)[-1] == LONGEST_MS
    assert noted(CleaningFailures(), 3, backoff_ms=2 * LONGEST_MS) == [2 * LONGEST_MS] * 3


def test_backoff_of_zero_becomes_a_second() -> None:
    assert noted(CleaningFailures(), 2, backoff_ms=0) == [1000, 2000]


def test_log_backs_off_for_its_backoff() -> None:
    failures = CleaningFailures()
    failures.record(ORDERS, "no", now_ms=100, backoff_ms=15_000)

    assert failures.is_backing_off(ORDERS, 15_099)
    assert not failures.is_backing_off(ORDERS, 15_100)
    assert not failures.is_backing_off(OTHER, 100)


def test_success_resets_the_backoff() -> None:
    failures = CleaningFailures()
    noted(failures, 3)

    failures.clear(ORDERS)

    assert failures.by_partition == {}
    assert noted(failures, 1) == [15_000]


def test_failures_of_deleted_logs_are_removed() -> None:
    failures = CleaningFailures()
    for each in (ORDERS, OTHER):
        failures.record(each, "no", now_ms=0, backoff_ms=1)

    failures.retain([OTHER])

    assert list(failures.by_partition) == [OTHER]

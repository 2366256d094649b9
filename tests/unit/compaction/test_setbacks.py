"""What failed is tried again, after longer each time, and forgotten when it has gone well."""

from cordwood.compaction.setbacks import LONGEST_MS, Setbacks
from cordwood.core.types import PartitionId, TopicName, TopicPartition

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
OTHER = TopicPartition(TopicName("orders"), PartitionId(1))


def noted(setbacks: Setbacks, count: int, *, backoff_ms: int = 15_000) -> list[int]:
    """Note so many failures and return how long each has to wait."""
    return [
        setbacks.note(ORDERS, "no", now_ms=0, backoff_ms=backoff_ms).wait_ms for _ in range(count)
    ]


def test_wait_doubles_with_each_failure() -> None:
    assert noted(Setbacks(), 4) == [15_000, 30_000, 60_000, 120_000]


def test_wait_does_not_grow_beyond_an_hour_unless_the_backoff_is_longer() -> None:
    assert noted(Setbacks(), 100)[-1] == LONGEST_MS
    assert noted(Setbacks(), 3, backoff_ms=2 * LONGEST_MS) == [2 * LONGEST_MS] * 3


def test_wait_is_a_second_where_there_is_no_backoff() -> None:
    assert noted(Setbacks(), 2, backoff_ms=0) == [1000, 2000]


def test_log_waits_until_its_time_has_come() -> None:
    setbacks = Setbacks()
    setbacks.note(ORDERS, "no", now_ms=100, backoff_ms=15_000)

    assert setbacks.is_waiting(ORDERS, 15_099)
    assert not setbacks.is_waiting(ORDERS, 15_100)
    assert not setbacks.is_waiting(OTHER, 100)


def test_log_that_went_well_begins_anew() -> None:
    setbacks = Setbacks()
    noted(setbacks, 3)

    setbacks.clear(ORDERS)

    assert setbacks.known == {}
    assert noted(setbacks, 1) == [15_000]


def test_logs_that_are_gone_are_forgotten() -> None:
    setbacks = Setbacks()
    for each in (ORDERS, OTHER):
        setbacks.note(each, "no", now_ms=0, backoff_ms=1)

    setbacks.keep([OTHER])

    assert list(setbacks.known) == [OTHER]

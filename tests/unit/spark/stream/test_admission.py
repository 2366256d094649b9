"""Admission of records to a batch, by offsets, bytes and time."""

from collections.abc import Mapping
from random import Random

import pytest

from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import OffsetRange
from cordwood.spark.stream.admission import (
    NO_LIMITS,
    AdmissionLimits,
    Backlog,
    admit,
    is_held_back,
)

P0, P1, P2 = (TopicPartition(TopicName("t"), PartitionId(each)) for each in range(3))


class FixedSizes:
    """Every offset has ten bytes."""

    def size_of(self, wanted: OffsetRange) -> int:
        return 10 * (wanted.end - wanted.start)

    def end_within(self, wanted: OffsetRange, size: int) -> int:
        return min(wanted.end, wanted.start + max(1, size // 10))


def admitted(
    backlogs: Mapping[TopicPartition, Backlog], **limits: int
) -> dict[TopicPartition, int]:
    return admit(backlogs, AdmissionLimits(**limits), sizes=FixedSizes())


def test_everything_is_admitted_without_limits() -> None:
    assert admit({P0: Backlog(3, 9)}, NO_LIMITS, sizes=FixedSizes()) == {P0: 9}


def test_max_offsets_is_shared_by_backlog() -> None:
    ends = admitted({P0: Backlog(0, 300), P1: Backlog(50, 150)}, max_offsets=100)

    assert ends == {P0: 75, P1: 75}


def test_small_partition_is_not_starved() -> None:
    ends = admitted({P0: Backlog(0, 10_000), P1: Backlog(0, 1)}, max_offsets=10)

    assert ends == {P0: 9, P1: 1}


def test_partition_without_backlog_keeps_its_position() -> None:
    ends = admitted({P0: Backlog(5, 5), P1: Backlog(0, 9), P2: Backlog(9, 7)}, max_offsets=4)

    assert ends == {P0: 5, P1: 4, P2: 9}


def test_share_is_rounded_as_spark_sql_kafka_rounds_it() -> None:
    """100 * (29 / 100) is below 29 in double precision."""
    ends = admitted({P0: Backlog(0, 29), P1: Backlog(0, 71)}, max_offsets=100)

    assert ends == {P0: 28, P1: 71}


def test_max_bytes_is_shared_by_backlog() -> None:
    ends = admitted({P0: Backlog(0, 300), P1: Backlog(0, 100)}, max_bytes=1000)

    assert ends == {P0: 75, P1: 25}


def test_max_bytes_admits_a_whole_backlog_that_is_smaller() -> None:
    assert admitted({P0: Backlog(0, 30)}, max_bytes=300) == {P0: 30}


def test_smaller_one_of_two_limits_holds() -> None:
    assert admitted({P0: Backlog(0, 300)}, max_offsets=100, max_bytes=200) == {P0: 20}
    assert admitted({P0: Backlog(0, 300)}, max_offsets=10, max_bytes=2000) == {P0: 10}


def test_every_batch_makes_progress_until_nothing_is_left() -> None:
    random = Random(20)
    for _ in range(200):
        backlogs = {each: Backlog(0, random.randrange(500)) for each in (P0, P1, P2)}
        most, batches = random.randrange(1, 60), 0
        while any(each.size for each in backlogs.values()):
            ends = admitted(backlogs, max_offsets=most, max_bytes=10 * most)
            read = sum(ends[each] - backlogs[each].start for each in backlogs)
            assert 1 <= read <= most + len(backlogs), (backlogs, most)
            backlogs = {each: backlogs[each]._replace(start=ends[each]) for each in backlogs}
            batches += 1
        assert batches <= 1500


@pytest.mark.parametrize(
    ("now_ms", "last_batch_ms", "unread", "is_held"),
    (
        (1000, 0, 9, True),
        (1000, 0, 10, False),
        (5000, 0, 9, False),
        (1000, None, 0, False),
    ),
    ids=("too few", "enough", "too late", "first batch"),
)
def test_batch_waits_for_its_minimum_or_the_delay(
    now_ms: float, last_batch_ms: float | None, unread: int, *, is_held: bool
) -> None:
    limits = AdmissionLimits(min_offsets=10, max_delay_ms=5000)

    held = is_held_back(
        {P0: Backlog(3, 3 + unread)}, limits, now_ms=now_ms, last_batch_ms=last_batch_ms
    )

    assert held is is_held


def test_batch_does_not_wait_without_a_minimum() -> None:
    assert not is_held_back({P0: Backlog(0, 0)}, NO_LIMITS, now_ms=1, last_batch_ms=0)

"""Resolution of starting and ending options to offsets."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from cordwood.core.errors import InconsistentTopicIdError, SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.source.coverage import (
    AvailableRange,
    BrokerSource,
    KnownEnd,
    OffsetRange,
    PartitionDirectory,
    TopicIdentity,
)
from cordwood.spark.source.offset_resolution import (
    PartitionExtent,
    apply_filters,
    check_requested,
    extent_of,
    resolve_ranges,
    resolve_topic_ids,
)
from cordwood.spark.source.pushed_filters import NO_FILTERS, IntegerInterval, PushedFilters
from cordwood.spark.source.source_options import (
    OffsetRangeLimit,
    SourceOptions,
    TopicChoice,
    parse_options,
)

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
EXTENTS = {ORDERS: PartitionExtent(10, 50)}


class TimedReader:
    """An offset reader with one record a second, from `first` up to `end`."""

    def __init__(self, first: int, end: int) -> None:
        self.first, self.end = first, end

    def topics(self) -> tuple[str, ...]:
        return ("orders",)

    def partitions(self) -> Collection[TopicPartition]:
        return (ORDERS,)

    def available(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[AvailableRange]]:
        assert ORDERS in wanted
        return {ORDERS: [AvailableRange(self.first, self.end, BrokerSource())]}

    def log_ends(self) -> Mapping[TopicPartition, int]:
        return {}

    def leader_epochs(self, wanted: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return dict.fromkeys(wanted, 0)

    def truncated_ends(
        self, known: Mapping[TopicPartition, KnownEnd]
    ) -> Mapping[TopicPartition, int]:
        return {each: 0 for each, (_, epoch) in known.items() if epoch is not None}

    def topic_ids(self) -> Mapping[TopicPartition, TopicIdentity]:
        return {}

    def offsets_for_times(
        self, wanted: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        found = {each: max(self.first, -(-time // 1000)) for each, time in wanted.items()}
        return {each: offset if offset < self.end else None for each, offset in found.items()}


class NamedReader(TimedReader):
    """An offset reader that reports a topic id."""

    def __init__(self, topic_id: str, reported_by: str) -> None:
        super().__init__(0, 10)
        self.identity = TopicIdentity(topic_id, reported_by)

    def topic_ids(self) -> Mapping[TopicPartition, TopicIdentity]:
        return {ORDERS: self.identity}


def _resolved(*readers: TimedReader, **options: object) -> OffsetRange:
    (found,) = resolve_ranges(EXTENTS, SourceOptions(**options), readers=readers)  # type: ignore[arg-type]  # by name
    return found


def test_places_agree_on_the_ids_of_topics() -> None:
    readers = NamedReader("A", "/logs/orders-0"), TimedReader(0, 9), NamedReader("A", "the brokers")

    assert resolve_topic_ids(readers, {ORDERS}) == {"orders": "A"}


def test_recreated_topic_is_not_read_together_with_the_old_one() -> None:
    readers = NamedReader("A", "/logs/orders-0"), NamedReader("B", "the brokers")

    with pytest.raises(InconsistentTopicIdError) as refused:
        resolve_topic_ids(readers, {ORDERS})

    assert str(refused.value) == (
        "orders: two topics have this name (A in /logs/orders-0, B in the brokers): the topic was "
        "deleted and created again, or these are two clusters; read one of them at a time"
    )
    assert resolve_topic_ids(readers, set()) == {}


def test_extent_is_that_of_all_places_together() -> None:
    assert extent_of(
        [
            AvailableRange(0, 30, PartitionDirectory("/d")),
            AvailableRange(50, 60, PartitionDirectory("/d")),
        ]
    ) == PartitionExtent(0, 60)


def test_extent_ends_at_the_end_on_the_brokers() -> None:
    assert extent_of(
        [AvailableRange(0, 70, PartitionDirectory("/d")), AvailableRange(20, 60, BrokerSource())]
    ) == PartitionExtent(0, 60)


def test_whole_log_is_read_by_default() -> None:
    assert _resolved() == OffsetRange(ORDERS, 10, 50)


def test_starting_offset_below_the_log_start_is_kept() -> None:
    starting = OffsetRangeLimit(is_time=False, default=-2, by_partition={ORDERS: 3})

    assert _resolved(starting=starting) == OffsetRange(ORDERS, 3, 50)


def test_latest_offset_of_one_partition_is_the_log_end() -> None:
    ending = OffsetRangeLimit(is_time=False, default=20, by_partition={ORDERS: -1})

    assert _resolved(ending=ending).end == 50


def test_times_are_the_first_offsets_of_all_places() -> None:
    starting = OffsetRangeLimit(is_time=True, default=15_000)

    assert _resolved(TimedReader(30, 50), TimedReader(10, 40), starting=starting).start == 15


def test_ending_timestamp_after_the_last_record_is_the_end() -> None:
    ending = OffsetRangeLimit(is_time=True, default=99_000)

    assert _resolved(TimedReader(10, 50), ending=ending).end == 50


def test_starting_timestamp_after_the_last_record_is_rejected() -> None:
    starting = OffsetRangeLimit(is_time=True, default=99_000)

    with pytest.raises(SettingError, match="orders-0: no record at or after 99000 ms"):
        _resolved(TimedReader(10, 50), starting=starting)


def test_starting_time_after_the_end_reads_no_records_under_strategy_latest() -> None:
    starting = OffsetRangeLimit(is_time=True, default=99_000)

    found = _resolved(TimedReader(10, 50), starting=starting, is_late_start_empty=True)

    assert found == OffsetRange(ORDERS, 50, 50)


def test_start_after_the_end_is_rejected() -> None:
    starting = OffsetRangeLimit(is_time=False, default=-2, by_partition={ORDERS: 30})
    ending = OffsetRangeLimit(is_time=False, default=-1, by_partition={ORDERS: 20})

    with pytest.raises(
        SettingError, match="orders-0: startingOffsets 30 is after endingOffsets 20; raise"
    ):
        _resolved(starting=starting, ending=ending)


def _filtered(wanted: OffsetRange, pushed: PushedFilters, *readers: TimedReader) -> OffsetRange:
    (found,) = apply_filters([wanted], pushed, readers=readers)
    return found


def test_offset_range_is_limited_to_the_filters() -> None:
    wanted = OffsetRange(ORDERS, 10, 50)

    assert _filtered(wanted, PushedFilters(offsets=IntegerInterval(20, 29))) == OffsetRange(
        ORDERS, 20, 30
    )
    assert _filtered(wanted, PushedFilters(offsets=IntegerInterval(70, 80))) == OffsetRange(
        ORDERS, 70, 70
    )
    assert _filtered(wanted, NO_FILTERS) == wanted


def test_reading_begins_at_the_first_record_that_is_not_too_old() -> None:
    wanted, reader = OffsetRange(ORDERS, 10, 50), TimedReader(10, 50)

    assert _filtered(wanted, PushedFilters(times=IntegerInterval(least=20_000)), reader).start == 20
    assert _filtered(wanted, PushedFilters(times=IntegerInterval(least=60_000)), reader).start == 50
    assert _filtered(wanted, PushedFilters(times=IntegerInterval(most=20_000)), reader) == wanted


def test_gap_is_not_filtered() -> None:
    gap = OffsetRange(ORDERS, 90, 50)

    assert _filtered(gap, PushedFilters(offsets=IntegerInterval(20, 29))) == gap


@pytest.mark.parametrize(
    ("options", "words"),
    (
        (
            SourceOptions(topics=TopicChoice(names=frozenset({"order"}))),
            "subscribe: topic 'order' does not exist; did you mean orders",
        ),
        (
            SourceOptions(
                topics=TopicChoice(
                    assigned=frozenset({TopicPartition(TopicName("orders"), PartitionId(1))})
                )
            ),
            "assign: partition orders-1 does not exist; choose from orders-0",
        ),
        (
            SourceOptions(
                starting=OffsetRangeLimit(
                    is_time=False,
                    default=-2,
                    by_partition={TopicPartition(TopicName("xyz"), PartitionId(0)): 1},
                )
            ),
            "topic 'xyz' does not exist; existing topics: a, b, orders and 1 more",
        ),
    ),
)
def test_unknown_topic_or_partition_is_rejected(options: SourceOptions, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        check_requested(options, topics=["orders", "payments", "b", "a"], partitions=[ORDERS])


def test_partitions_that_offsets_leave_out_are_read_as_a_whole() -> None:
    other = TopicPartition(TopicName("orders"), PartitionId(1))
    given = {"startingOffsets": '{"orders": {"0": 20}}', "endingOffsets": '{"orders": {"0": 30}}'}
    options = parse_options({"path": "logs", **given})

    found = resolve_ranges({**EXTENTS, other: PartitionExtent(3, 70)}, options, readers=())

    assert found == [OffsetRange(ORDERS, 20, 30), OffsetRange(other, 3, 70)]


def test_starting_timestamp_after_the_last_record_is_no_error_where_a_read_continues() -> None:
    options = SourceOptions(starting=OffsetRangeLimit(is_time=True, default=99_000))

    (found,) = resolve_ranges(EXTENTS, options, readers=(TimedReader(10, 50),), continued=(ORDERS,))

    assert found == OffsetRange(ORDERS, 50, 50)

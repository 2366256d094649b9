"""What users say of where a reading begins and ends, as offsets."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from cordwood.core.errors import InconsistentTopicIdError, SettingError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.bounds import Extent, ensure_known, extent_of, narrowed, resolve, topic_ids_of
from cordwood.spark.holdings import Holding, Range, TopicOf
from cordwood.spark.narrowing import EVERYTHING, Interval, Narrowing
from cordwood.spark.options import Bound, SourceOptions, TopicChoice

ORDERS = TopicPartition(TopicName("orders"), PartitionId(0))
EXTENTS = {ORDERS: Extent(10, 50)}


class TimedPlace:
    """A place that has a record a second, and as many as it is told."""

    def __init__(self, first: int, end: int) -> None:
        self.first, self.end = first, end

    def topics(self) -> tuple[str, ...]:
        return ("orders",)

    def partitions(self) -> Collection[TopicPartition]:
        return (ORDERS,)

    def held(
        self, wanted: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, Sequence[Holding]]:
        assert ORDERS in wanted
        return {ORDERS: [Holding(self.first, self.end, None)]}

    def topic_ids(self) -> Mapping[TopicPartition, TopicOf]:
        return {}

    def at_times(self, wanted: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        found = {each: max(self.first, -(-time // 1000)) for each, time in wanted.items()}
        return {each: offset if offset < self.end else None for each, offset in found.items()}


class NamingPlace(TimedPlace):
    """A place that says which topic it has."""

    def __init__(self, topic_id: str, said_by: str) -> None:
        super().__init__(0, 10)
        self.told = TopicOf(topic_id, said_by)

    def topic_ids(self) -> Mapping[TopicPartition, TopicOf]:
        return {ORDERS: self.told}


def _resolved(*places: TimedPlace, **options: object) -> Range:
    (found,) = resolve(EXTENTS, SourceOptions(**options), places=places)  # type: ignore[arg-type]  # by name
    return found


def test_places_agree_on_the_ids_of_topics() -> None:
    places = NamingPlace("A", "/logs/orders-0"), TimedPlace(0, 9), NamingPlace("A", "the brokers")

    assert topic_ids_of(places, {ORDERS}) == {"orders": "A"}


def test_topic_that_was_made_anew_is_not_read_together_with_the_old_one() -> None:
    places = NamingPlace("A", "/logs/orders-0"), NamingPlace("B", "the brokers")

    with pytest.raises(InconsistentTopicIdError) as refused:
        topic_ids_of(places, {ORDERS})

    assert str(refused.value) == (
        "of orders there are two topics, A in /logs/orders-0 and B in the brokers: it was deleted "
        "and made anew, or these are two clusters; read one of them at a time"
    )
    assert topic_ids_of(places, set()) == {}


def test_extent_is_that_of_all_places_together() -> None:
    assert extent_of([Holding(0, 30, "/d"), Holding(50, 60, "/d")]) == Extent(0, 60)


def test_extent_ends_where_brokers_say() -> None:
    assert extent_of([Holding(0, 70, "/d"), Holding(20, 60, None)]) == Extent(0, 60)


def test_whole_log_is_read_if_nothing_is_said() -> None:
    assert _resolved() == Range(ORDERS, 10, 50)


def test_offset_stays_what_it_is_where_the_log_lacks_it() -> None:
    starting = Bound(is_time=False, default=-2, given={ORDERS: 3})

    assert _resolved(starting=starting) == Range(ORDERS, 3, 50)


def test_latest_of_one_partition_is_the_end() -> None:
    ending = Bound(is_time=False, default=20, given={ORDERS: -1})

    assert _resolved(ending=ending).end == 50


def test_times_are_the_first_offsets_of_all_places() -> None:
    starting = Bound(is_time=True, default=15_000)

    assert _resolved(TimedPlace(30, 50), TimedPlace(10, 40), starting=starting).start == 15


def test_time_that_nothing_has_reached_is_the_end_to_end_at() -> None:
    ending = Bound(is_time=True, default=99_000)

    assert _resolved(TimedPlace(10, 50), ending=ending).end == 50


def test_time_that_nothing_has_reached_is_refused_to_begin_at() -> None:
    starting = Bound(is_time=True, default=99_000)

    with pytest.raises(SettingError, match="orders-0 has no record from 99000 ms on"):
        _resolved(TimedPlace(10, 50), starting=starting)


def test_late_start_reads_nothing_where_that_is_wanted() -> None:
    starting = Bound(is_time=True, default=99_000)

    found = _resolved(TimedPlace(10, 50), starting=starting, is_late_start_empty=True)

    assert found == Range(ORDERS, 50, 50)


def test_reading_that_would_end_before_it_begins_is_refused() -> None:
    starting = Bound(is_time=False, default=-2, given={ORDERS: 30})
    ending = Bound(is_time=False, default=-1, given={ORDERS: 20})

    with pytest.raises(SettingError, match="of orders-0 the reading would begin at offset 30"):
        _resolved(starting=starting, ending=ending)


def _narrowed(wanted: Range, narrowing: Narrowing, *places: TimedPlace) -> Range:
    (found,) = narrowed([wanted], narrowing, places=places)
    return found


def test_offsets_outside_of_a_narrowing_are_cut_off() -> None:
    wanted = Range(ORDERS, 10, 50)

    assert _narrowed(wanted, Narrowing(offsets=Interval(20, 29))) == Range(ORDERS, 20, 30)
    assert _narrowed(wanted, Narrowing(offsets=Interval(70, 80))) == Range(ORDERS, 70, 70)
    assert _narrowed(wanted, EVERYTHING) == wanted


def test_reading_begins_at_the_first_record_that_is_not_too_old() -> None:
    wanted, place = Range(ORDERS, 10, 50), TimedPlace(10, 50)

    assert _narrowed(wanted, Narrowing(times=Interval(least=20_000)), place).start == 20
    assert _narrowed(wanted, Narrowing(times=Interval(least=60_000)), place).start == 50
    assert _narrowed(wanted, Narrowing(times=Interval(most=20_000)), place) == wanted


def test_hole_is_not_narrowed() -> None:
    hole = Range(ORDERS, 90, 50)

    assert _narrowed(hole, Narrowing(offsets=Interval(20, 29))) == hole


@pytest.mark.parametrize(
    ("options", "words"),
    (
        (
            SourceOptions(topics=TopicChoice(names=frozenset({"order"}))),
            "no topic 'order' to read from; did you mean orders",
        ),
        (
            SourceOptions(
                topics=TopicChoice(
                    assigned=frozenset({TopicPartition(TopicName("orders"), PartitionId(1))})
                )
            ),
            "no partition orders-1 to read from; choose from orders-0",
        ),
        (
            SourceOptions(
                starting=Bound(
                    is_time=False,
                    default=-2,
                    given={TopicPartition(TopicName("xyz"), PartitionId(0)): 1},
                )
            ),
            "no topic 'xyz' to read from; there are orders, payments",
        ),
    ),
)
def test_what_is_named_and_nowhere_is_refused(options: SourceOptions, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        ensure_known(options, topics=["orders", "payments"], partitions=[ORDERS])

"""Replicas are placed as Kafka places them, and as textbooks do."""

from collections import Counter

import pytest

from cordwood.broker.placement import Beginning, Extent, drawn, spread, spread_from, textbook
from cordwood.core.errors import InvalidReplicationFactorError
from cordwood.testing.random import SeededRandom

FIVE = dict.fromkeys(range(5))
SIX_IN_RACKS = {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}
ZERO = Beginning(0, 0)


def test_replicas_are_spread_as_by_kafka() -> None:
    placed = spread_from(FIVE, Extent(10, 3), beginning=ZERO)

    assert placed == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    ]


def test_replicas_are_spread_over_racks_as_by_kafka() -> None:
    placed = spread_from(SIX_IN_RACKS, Extent(7, 3), beginning=ZERO)

    assert placed == [
        (0, 3, 1),
        (3, 1, 5),
        (1, 5, 4),
        (5, 4, 2),
        (4, 2, 0),
        (2, 0, 3),
        (0, 4, 2),
    ]


def test_more_replicas_than_racks_are_on_different_brokers() -> None:
    for replicas in spread_from(SIX_IN_RACKS, Extent(12, 5), beginning=ZERO):
        assert len(set(replicas)) == 5
        assert {SIX_IN_RACKS[broker] for broker in replicas} == {"r1", "r2", "r3"}


def test_racks_of_different_sizes_have_one_replica_each_before_any_has_two() -> None:
    racks = {0: "a", 1: "a", 2: "a", 3: "b", 4: "c"}

    placed = spread_from(racks, Extent(3, 4), beginning=ZERO)

    assert placed[2] == (4, 1, 3, 2)


def test_racks_are_ignored_when_a_broker_has_none() -> None:
    racks = {**SIX_IN_RACKS, 6: None}

    placed = spread_from(racks, Extent(1, 3), beginning=ZERO)

    assert placed == [(0, 1, 2)]


def test_leaders_are_spread_evenly_wherever_chance_begins() -> None:
    placed = spread(FIVE, Extent(20, 3), random=SeededRandom(7))

    assert set(Counter(replicas[0] for replicas in placed).values()) == {4}
    assert set(Counter(broker for replicas in placed for broker in replicas).values()) == {12}


def test_chance_decides_where_to_begin() -> None:
    assert {drawn(3, SeededRandom(seed)) for seed in range(60)} == {
        Beginning(start, shift) for start in range(3) for shift in range(3)
    }


def test_added_partitions_go_on_from_the_first_ones() -> None:
    whole = spread_from(FIVE, Extent(8, 2), beginning=Beginning(2, 2))

    added = spread(FIVE, Extent(5, 2, first=3), random=SeededRandom(1), leader_of_0=2)

    assert added == whole[3:]


def test_added_partitions_begin_anywhere_when_the_first_leader_is_gone() -> None:
    placed = spread(
        {1: None, 2: None}, Extent(1, 1, first=1), random=SeededRandom(1), leader_of_0=9
    )

    assert placed == [(2,)]


def test_one_broker_has_everything() -> None:
    assert spread({4: None}, Extent(2, 1), random=SeededRandom(1)) == [(4,), (4,)]


def test_textbook_places_by_remainders() -> None:
    assert textbook([3, 1, 2], Extent(4, 2)) == [(1, 2), (2, 3), (3, 1), (1, 2)]


def test_textbook_goes_on_where_a_topic_ends() -> None:
    assert textbook([1, 2, 3], Extent(1, 2, first=2)) == [(3, 1)]


def test_more_replicas_than_brokers_are_refused() -> None:
    problem = r"cannot be reached because only 5 broker\(s\) are registered"
    with pytest.raises(InvalidReplicationFactorError, match=problem):
        spread(FIVE, Extent(1, 6), random=SeededRandom(1))
    with pytest.raises(InvalidReplicationFactorError, match=problem):
        textbook([*FIVE], Extent(1, 6))

"""Tests of replica placement."""

from collections import Counter

import pytest

from cordwood.broker.metadata.replica_placer import (
    PlacementSpec,
    PlacementStart,
    draw_start,
    spread,
    spread_from,
    textbook,
)
from cordwood.core.errors import InvalidReplicationFactorError
from cordwood.testing.seeded_random import SeededRandom

FIVE = dict.fromkeys(range(5))
SIX_IN_RACKS = {0: "r1", 1: "r3", 2: "r3", 3: "r2", 4: "r2", 5: "r1"}
ZERO = PlacementStart(0, 0)


def test_replicas_are_spread_as_by_kafka() -> None:
    placed = spread_from(FIVE, PlacementSpec(10, 3), start=ZERO)

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
    placed = spread_from(SIX_IN_RACKS, PlacementSpec(7, 3), start=ZERO)

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
    for replicas in spread_from(SIX_IN_RACKS, PlacementSpec(12, 5), start=ZERO):
        assert len(set(replicas)) == 5
        assert {SIX_IN_RACKS[broker] for broker in replicas} == {"r1", "r2", "r3"}


def test_racks_of_different_sizes_have_one_replica_each_before_a_second() -> None:
    racks = {0: "a", 1: "a", 2: "a", 3: "b", 4: "c"}

    placed = spread_from(racks, PlacementSpec(3, 4), start=ZERO)

    assert placed[2] == (4, 1, 3, 2)


def test_racks_are_ignored_when_a_broker_has_none() -> None:
    racks = {**SIX_IN_RACKS, 6: None}

    placed = spread_from(racks, PlacementSpec(1, 3), start=ZERO)

    assert placed == [(0, 1, 2)]


def test_leaders_are_spread_evenly_from_any_start() -> None:
    placed = spread(FIVE, PlacementSpec(20, 3), random=SeededRandom(7))

    assert set(Counter(replicas[0] for replicas in placed).values()) == {4}
    assert set(Counter(broker for replicas in placed for broker in replicas).values()) == {12}


def test_chance_decides_where_to_begin() -> None:
    assert {draw_start(3, SeededRandom(seed)) for seed in range(60)} == {
        PlacementStart(start, shift) for start in range(3) for shift in range(3)
    }


def test_added_partitions_continue_after_the_existing_ones() -> None:
    whole = spread_from(FIVE, PlacementSpec(8, 2), start=PlacementStart(2, 2))

    added = spread(FIVE, PlacementSpec(5, 2, first=3), random=SeededRandom(1), leader_of_0=2)

    assert added == whole[3:]


def test_added_partitions_start_at_random_without_the_first_leader() -> None:
    placed = spread(
        {1: None, 2: None}, PlacementSpec(1, 1, first=1), random=SeededRandom(1), leader_of_0=9
    )

    assert placed == [(2,)]


def test_single_broker_has_all_replicas() -> None:
    assert spread({4: None}, PlacementSpec(2, 1), random=SeededRandom(1)) == [(4,), (4,)]


def test_textbook_places_by_remainders() -> None:
    assert textbook([3, 1, 2], PlacementSpec(4, 2)) == [(1, 2), (2, 3), (3, 1), (1, 2)]


def test_textbook_placement_continues_after_existing_partitions() -> None:
    assert textbook([1, 2, 3], PlacementSpec(1, 2, first=2)) == [(3, 1)]


def test_more_replicas_than_brokers_are_rejected() -> None:
    problem = r"cannot be reached because only 5 broker\(s\) are registered"
    with pytest.raises(InvalidReplicationFactorError, match=problem):
        spread(FIVE, PlacementSpec(1, 6), random=SeededRandom(1))
    with pytest.raises(InvalidReplicationFactorError, match=problem):
        textbook([*FIVE], PlacementSpec(1, 6))

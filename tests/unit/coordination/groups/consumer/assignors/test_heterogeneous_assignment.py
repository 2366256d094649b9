"""The uniform assignment of different subscriptions gives the results of Kafka 4.3."""

import pytest

from cordwood.coordination.groups.consumer.assignors.heterogeneous_assignment import (
    HeterogeneousAssignment,
)
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import (
    Subscriptions,
    parsed,
    spec,
)


@pytest.mark.parametrize(
    ("members", "partitions", "before", "expected"),
    (
        pytest.param({"A": (1, 2), "B": (2,)}, (3, 3), "", "A 1:0-2; B 2:0-2", id="H1"),
        pytest.param(
            {"A": (1,), "B": (1, 2), "C": (2,)},
            (6, 4),
            "",
            "A 1:0,2,4; B 1:1,3,5; C 2:0-3",
            id="H2",
        ),
        pytest.param(
            {"A": (1, 2), "B": (1,)}, (4, 4), "A 1:0-3 2:0,1", "A 2:0-3; B 1:0-3", id="H3"
        ),
        pytest.param(
            {"A": (1, 3), "B": (2,), "C": (2, 3)},
            (4, 3, 3),
            "",
            "A 1:0-3; B 2:0-2; C 3:0-2",
            id="H4",
        ),
    ),
)
def test_partitions_go_to_the_least_loaded_subscriber(
    members: Subscriptions, partitions: tuple[int, ...], before: str, expected: str
) -> None:
    group = spec(members, partitions, before=before)

    assert HeterogeneousAssignment(group).assign() == parsed(expected)


def test_partitions_of_unsubscribed_topics_are_dropped() -> None:
    group = spec({"A": (1,), "B": (1, 2)}, (2, 2), before="A 2:0,1; B 1:0,1")

    assert HeterogeneousAssignment(group).assign() == parsed("A 1:0,1; B 2:0,1")


def test_partitions_that_do_not_exist_are_dropped() -> None:
    group = spec({"A": (1,), "B": (1, 2)}, (2, 1), before="A 1:0,1,7; B 2:0,1")

    assert HeterogeneousAssignment(group).assign() == parsed("A 1:0,1; B 2:0")


def test_partitions_stay_when_loads_differ_by_one() -> None:
    group = spec({"A": (1,), "B": (1,), "C": ()}, (3,), before="A 1:0,1; B 1:2")

    assert HeterogeneousAssignment(group).assign() == parsed("A 1:0,1; B 1:2; C -")


def test_members_without_the_topic_of_the_most_loaded_are_passed_over() -> None:
    # A is the most loaded subscriber of topic 2, but holds partitions of topic 1 alone.
    group = spec({"A": (1, 2), "B": (2,), "C": (2,)}, (4, 3), before="A 1:0-3; B 2:0-2")

    assert HeterogeneousAssignment(group).assign() == parsed("A 1:0-3; B 2:0,1; C 2:2")

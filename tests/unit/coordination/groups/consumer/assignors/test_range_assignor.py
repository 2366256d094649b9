"""The assignor `range` gives the results of Kafka 4.3."""

import pytest

from cordwood.coordination.groups.consumer.assignors.group_spec import PartitionAssignorError
from cordwood.coordination.groups.consumer.assignors.range_assignor import RangeAssignor
from tests.unit.coordination.groups.consumer.assignors.assignor_samples import (
    Subscriptions,
    assignment,
    parsed,
    spec,
)


@pytest.mark.parametrize(
    ("members", "partitions", "expected"),
    (
        pytest.param("AB", (3, 2), "A 1:0,1 2:0; B 1:2 2:1", id="R1"),
        pytest.param("ABC", (7,), "A 1:0-2; B 1:3,4; C 1:5,6", id="R2"),
        pytest.param("ABC", (3, 2), "A 1:0 2:0; B 1:1 2:1; C 1:2", id="R3"),
        pytest.param(
            {"A": (1, 2), "B": (3,), "C": (2, 3)},
            (3, 3, 2),
            "A 1:0-2 2:0,1; B 3:0; C 2:2 3:1",
            id="R4",
        ),
    ),
)
def test_range_divides_each_topic(
    members: str | Subscriptions, partitions: tuple[int, ...], expected: str
) -> None:
    assert assignment(RangeAssignor(), spec(members, partitions)) == parsed(expected)


def test_range_takes_static_members_first() -> None:
    group = spec("ABC", (5,), instances={"A": "i2", "B": "i1"})

    assert assignment(RangeAssignor(), group) == parsed("B 1:0,1; A 1:2,3; C 1:4")


def test_range_ignores_the_previous_assignment() -> None:
    group = spec("AB", (3,), before="A 1:2; B 1:0,1")

    assert assignment(RangeAssignor(), group) == parsed("A 1:0,1; B 1:2")


def test_range_has_nothing_to_assign_without_members() -> None:
    assert RangeAssignor().assign(spec("", (3,))) == {}


def test_range_fails_when_a_topic_does_not_exist() -> None:
    with pytest.raises(PartitionAssignorError):
        RangeAssignor().assign(spec({"A": (2,)}, (3,)))

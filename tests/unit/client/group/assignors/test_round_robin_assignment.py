"""The assignor `roundrobin`, with the examples of Kafka's documentation."""

import pytest

from cordwood.client.group.assignors.round_robin_assignment import assign_round_robin
from tests.unit.client.group.assignors.vectors import members, text_of

VECTORS = (
    ({"a": "12", "b": "12"}, {"1": 3, "2": 3}, {"a": "1:0,2 2:1", "b": "1:1 2:0,2"}),
    (
        {"a": "1", "b": "12", "c": "123"},
        {"1": 1, "2": 2, "3": 3},
        {"a": "1:0", "b": "2:0", "c": "2:1 3:0,1,2"},
    ),
    ({"a": "1", "b": "1"}, {"1": 1}, {"a": "1:0", "b": ""}),
)


@pytest.mark.parametrize(("topics", "counts", "wanted"), VECTORS)
def test_partitions_are_assigned_in_turn(
    topics: dict[str, str], counts: dict[str, int], wanted: dict[str, str]
) -> None:
    assert text_of(assign_round_robin(members(topics), counts)) == wanted

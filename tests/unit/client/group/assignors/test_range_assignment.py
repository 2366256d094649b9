"""The assignor `range`, with the vectors of Kafka's classes."""

import pytest

from cordwood.client.group.assignors.assignor import SubscribedMember
from cordwood.client.group.assignors.range_assignment import assign_ranges
from tests.unit.client.group.assignors.vectors import members, text_of

VECTORS: tuple[tuple[dict[str, str], dict[str, int], dict[str, str]], ...] = (
    ({"a": "12", "b": "12"}, {"1": 3, "2": 2}, {"a": "1:0,1 2:0", "b": "1:2 2:1"}),
    ({"a": "1", "b": "1", "c": "1"}, {"1": 7}, {"a": "1:0,1,2", "b": "1:3,4", "c": "1:5,6"}),
    (
        {"a": "12", "b": "12", "c": "12"},
        {"1": 3, "2": 2},
        {"a": "1:0 2:0", "b": "1:1 2:1", "c": "1:2"},
    ),
    (
        {"a": "12", "b": "3", "c": "23"},
        {"1": 3, "2": 3, "3": 2},
        {"a": "1:0,1,2 2:0,1", "b": "3:0", "c": "2:2 3:1"},
    ),
    ({"a": "1"}, {}, {"a": ""}),
)


@pytest.mark.parametrize(("topics", "counts", "wanted"), VECTORS)
def test_ranges_are_those_of_kafka(
    topics: dict[str, str], counts: dict[str, int], wanted: dict[str, str]
) -> None:
    assert text_of(assign_ranges(members(topics), counts)) == wanted


def test_static_members_are_ordered_by_instance_id_before_dynamic_ones() -> None:
    topics = frozenset("1")
    group = [
        SubscribedMember("a", topics, instance_id="i2"),
        SubscribedMember("b", topics, instance_id="i1"),
        SubscribedMember("c", topics),
    ]

    assert text_of(assign_ranges(group, {"1": 5})) == {"a": "1:2,3", "b": "1:0,1", "c": "1:4"}

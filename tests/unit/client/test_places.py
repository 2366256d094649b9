"""Pairs and partitions."""

from cordwood.client.places import by_topic, partitions_of


def test_partitions_are_grouped_in_the_order_they_came() -> None:
    a0, b0, a1 = partitions_of([("a", 0), ("b", 0), ("a", 1)])

    assert by_topic([a0, b0, a1]) == {"a": [a0, a1], "b": [b0]}
    assert str(a1) == "a-1"
